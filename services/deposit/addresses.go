package deposit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"offrampbot/services/store"
	"offrampbot/services/user"
)

// walletCounter is the `_id` in `counters` of the next address index; the sign-up raises it.
const walletCounter = "wallet_index"

// Deriver makes the address of an index; it is pure. chains/evm has the one from the xpub.
type Deriver interface {
	Address(index int64) (string, error)
}

// Book answers which addresses are ours from the counter of allotted indexes and the users. It remembers derived
// addresses only, which never change; the counter is read each time.
type Book struct {
	engine store.Engine
	derive Deriver

	mu    sync.Mutex
	known []string
}

// NewBook returns the address book of a store. It refuses a nil part by name.
func NewBook(engine store.Engine, derive Deriver) (*Book, error) {
	if engine == nil {
		return nil, errors.New("make address book: Engine is nil")
	}
	if derive == nil {
		return nil, errors.New("make address book: Deriver is nil")
	}
	return &Book{engine: engine, derive: derive}, nil
}

// Watched implements Addresses.
func (b *Book) Watched(ctx context.Context) ([]string, error) {
	var counter struct {
		store.Meta `bson:",inline"`
		Next       int64 `bson:"next" json:"next"`
	}
	err := b.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		err := r.Get(store.Counters, walletCounter, &counter)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read address index: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for int64(len(b.known)) < counter.Next {
		address, err := b.derive.Address(int64(len(b.known)))
		if err != nil {
			return nil, fmt.Errorf("derive address %d: %w", len(b.known), err)
		}
		b.known = append(b.known, address)
	}
	return b.known[:counter.Next:counter.Next], nil
}

// Owner implements Addresses.
func (b *Book) Owner(ctx context.Context, address string) (string, error) {
	var id string
	err := b.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		id = ""
		u, err := store.First[user.User](r, store.Query{Collection: store.Users, Index: "address", Equal: []any{address}})
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		id = u.ID
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("find user of address: %w", err)
	}
	return id, nil
}

// Since implements Addresses: no address is older than the first person.
func (b *Book) Since(ctx context.Context) (at time.Time, ok bool, err error) {
	err = b.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		ok = false
		first, err := store.First[user.User](r, store.Query{Collection: store.Users, Index: "created"})
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		at, ok = first.CreatedAt, true
		return nil
	})
	if err != nil {
		return time.Time{}, false, fmt.Errorf("find the first user: %w", err)
	}
	return at, ok, nil
}

var _ Addresses = (*Book)(nil)
