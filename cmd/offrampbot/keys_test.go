package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/flows"
	"offrampbot/services/admin"
	"offrampbot/services/delivery"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/seal"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

// brokenOff is an engine that fails after some transactions, as a process that is killed in the middle.
type brokenOff struct {
	store.Engine
	left int
}

var errKilled = errors.New("killed")

func (b *brokenOff) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	if b.left == 0 {
		return errKilled
	}
	b.left--
	return b.Engine.Update(ctx, fn)
}

func keysNamed(t *testing.T, ids ...string) *seal.Keyring {
	t.Helper()
	var keys []seal.Key
	for _, id := range ids {
		keys = append(keys, seal.Key{ID: id, Bytes: bytes.Repeat([]byte(id[:1]), seal.KeySize)})
	}
	k, err := seal.NewKeyring(keys...)
	require.NoError(t, err)
	return k
}

const sealedText = "0123456789"

// sealedWorld stores some documents of every collection that holds sealed fields, and returns how many fields they have.
func sealedWorld(t *testing.T, engine store.Engine, keys *seal.Keyring) (fields int) {
	t.Helper()
	sealFor := func(record string) []byte {
		sealed, err := keys.Seal([]byte(sealedText), record)
		require.NoError(t, err)
		fields++
		return sealed
	}
	put := func(c store.Collection, doc store.Document) {
		doc.Head().Version = 1
		require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error { return tx.Insert(c, doc) }))
	}
	for i := range 3 {
		id := fmt.Sprint("x", i)
		meta := store.Meta{ID: id}
		b := quote.Beneficiary{Digest: "digest" + id}
		b.Sealed = sealFor(b.Record())
		put(store.Admins, &admin.Admin{Meta: meta, TOTP: sealFor(id)})
		put(store.Beneficiaries, &user.Beneficiary{Meta: meta, User: id, Digest: id, Sealed: sealFor(id)})
		put(store.Quotes, &quote.Quote{Meta: meta, Beneficiary: b})
		fields++
		put(store.Orders, &offramp.Order{Meta: meta, Reference: id, Beneficiary: b})
		put(store.FlowSessions, &flows.Session{Meta: meta, Secret: sealFor(id), Answer: sealFor(id)})
		put(store.FlowSessions, &flows.Session{Meta: store.Meta{ID: id + "-empty"}})
		put(store.Inbox, &delivery.Receipt{Meta: meta, Body: sealFor(id)})
	}
	return fields
}

func TestRotateKeys_onBothEngines(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		fields := sealedWorld(t, engine, keysNamed(t, "old"))
		both := keysNamed(t, "new", "old")
		killed := 0
		var r rotation
		for {
			var err error
			if r, err = rotateKeys(t.Context(), &brokenOff{storetest.Twice(engine), 4}, both); err == nil {
				break
			}
			require.ErrorIs(t, err, errKilled)
			killed++
			require.Less(t, killed, fields, "every run gets further")
		}
		require.Greater(t, killed, 2)
		require.Equal(t, fields, r.Sealed+r.Left)
		require.Empty(t, r.Unreadable)

		r, err := rotateKeys(t.Context(), engine, keysNamed(t, "new")) // the old key is not needed any more
		require.NoError(t, err)
		require.Equal(t, rotation{Left: fields, Unreadable: []unreadable{}}, r)

		r, err = rotateKeys(t.Context(), engine, keysNamed(t, "third")) // a ring without the key in use
		require.NoError(t, err)
		require.Zero(t, r.Sealed)
		require.Len(t, r.Unreadable, fields-3, "a session's two fields are one line")
	})
}

// TestRotateKeys_keepsWhatOthersWrite changes a document between its look and its store.
func TestRotateKeys_keepsWhatOthersWrite(t *testing.T) {
	t.Parallel()
	engine := testkit.Bolt(t, indexes())
	sealed, err := keysNamed(t, "old").Seal([]byte("first"), "wa:1")
	require.NoError(t, err)
	require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		return tx.Insert(store.Inbox, &delivery.Receipt{Meta: store.Meta{ID: "wa:1", Version: 1}, Body: sealed})
	}))
	other, err := keysNamed(t, "old").Seal([]byte("second"), "wa:1")
	require.NoError(t, err)
	between := &meddler{Engine: engine, do: func() {
		require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
			rec, err := delivery.Load(tx, "wa:1")
			if err != nil {
				return err
			}
			rec.Body, rec.Order = other, "o1"
			return tx.Replace(store.Inbox, rec)
		}))
	}}
	r, err := rotateKeys(t.Context(), between, keysNamed(t, "new", "old"))
	require.NoError(t, err)
	require.Equal(t, 1, r.Sealed)
	require.NoError(t, engine.View(t.Context(), func(_ context.Context, rd store.Reader) error {
		rec, err := delivery.Load(rd, "wa:1")
		require.NoError(t, err)
		require.Equal(t, "o1", rec.Order)
		plain, err := keysNamed(t, "new").Open(rec.Body, rec.ID)
		require.Equal(t, "second", string(plain))
		return err
	}))
}

// meddler does something once, before the first transaction.
type meddler struct {
	store.Engine
	do   func()
	done bool
}

func (m *meddler) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	if !m.done {
		m.done = true
		m.do()
	}
	return m.Engine.Update(ctx, fn)
}
