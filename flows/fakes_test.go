package flows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// hasher hashes by not hashing and counts comparisons.
type hasher struct {
	compared atomic.Int64
	mu       sync.Mutex
	during   func() // runs while a PIN is compared
	broken   error
}

func (h *hasher) Hash(pin user.TypedPIN) (encoded, pepper string, err error) {
	return "plain:" + string(pin), "p1", nil
}

func (h *hasher) Verify(encoded, _ string, pin user.TypedPIN) (right, outdated bool, err error) {
	h.compared.Add(1)
	h.mu.Lock()
	during, broken := h.during, h.broken
	h.mu.Unlock()
	if during != nil {
		during()
	}
	return encoded == "plain:"+string(pin), false, broken
}

// meanwhile sets what happens while a PIN is compared.
func (h *hasher) meanwhile(f func(), broken error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.during, h.broken = f, broken
}

// book derives addresses by counting.
type book struct{}

func (book) Address(index int64) (string, error) { return fmt.Sprintf("0x%040x", index+1), nil }

// banks are payout banks that know two accounts, until they are told otherwise.
type banks struct {
	mu      sync.Mutex
	list    []payout.Bank
	names   map[string]string
	listErr error
	nameErr error
	hang    bool // never answers before the caller gives up
	asked   int
}

func newBanks() *banks {
	return &banks{list: payoutBanks(), names: map[string]string{account: "ADA OBI", otherAccount: "CHIKE EZE"}}
}

func (b *banks) change(f func(b *banks)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
}

func (b *banks) Banks(context.Context, string) ([]payout.Bank, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]payout.Bank(nil), b.list...), b.listErr
}

func (b *banks) ResolveAccount(ctx context.Context, _, _ string, number payout.AccountNumber) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.hang {
		<-ctx.Done()
		return "", fmt.Errorf("resolve %s: %w", string(number), ctx.Err()) // an adapter that forgot to mask
	}
	if b.nameErr != nil {
		return "", b.nameErr
	}
	if name, ok := b.names[string(number)]; ok {
		return name, nil
	}
	return "", fault.New("account_not_found", nil)
}

// prices is the operator's rate now.
type prices struct{ w *world }

func (p prices) Price(ctx context.Context, asset, _, fiat string) (rate money.Rate, err error) {
	err = p.w.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		s, err := setting.Load(r)
		if err != nil {
			return err
		}
		found, err := s.Price(asset, fiat, p.w.clock.Now())
		rate = found.Rate
		return err
	})
	return rate, err
}

// pins is what cmd wires.
type pins struct{ w *world }

func (p pins) CheckPIN(ctx context.Context, userID string, pin user.TypedPIN, channel string) error {
	return p.w.people.CheckPIN(ctx, userID, pin, channel)
}

func (p pins) Reauthenticated(ctx context.Context, userID string) (wait time.Duration, err error) {
	err = p.w.orders.Freed(ctx, userID, func(tx store.Tx) (thawed bool, err error) {
		thawed, wait, err = p.w.people.Reauthenticated(tx, userID, true)
		return thawed, err
	})
	return wait, err
}

type blocks struct{ n *atomic.Int64 }

func (b blocks) DuplicateBlocked(string) { b.n.Add(1) }

// screener hits a name.
type screener struct{ name atomic.Value }

func (s *screener) Address(string) error { return nil }
func (s *screener) Name(name string) error {
	if hit, _ := s.name.Load().(string); hit != "" && hit == name {
		return fault.New("screening_hit", nil)
	}
	return nil
}

// rail, router and watcher are what the order service wants and these tests never reach.
type rail struct{ payout.Rail }

type router struct{}

func (router) Next([]string, string, func(string) bool) (string, bool) { return "bank", true }

// ordersOf is the durable truth behind the guard.
type ordersOf struct {
	engine store.Engine
	now    func() time.Time
}

func (g ordersOf) Exists(ctx context.Context, intent string) (there bool, err error) {
	err = g.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		var o offramp.Order
		err := r.Get(store.Orders, intent, &o)
		there = err == nil
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return there, err
}

func (g ordersOf) FindOpenOrRecent(ctx context.Context, digest string) (f guard.Found, err error) {
	err = g.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		f = guard.Found{}
		o, err := offramp.OpenOrRecent(r, digest, g.now())
		switch {
		case o == nil:
		case o.State == offramp.Success:
			f = guard.Found{Intent: o.ID, Reference: o.Reference, State: guard.Completed, At: *o.EndedAt}
		default:
			f = guard.Found{Intent: o.ID, Reference: o.Reference, State: guard.Processing, At: o.UpdatedAt}
		}
		return err
	})
	return f, err
}

type guardMetrics struct{}

func (guardMetrics) DuplicateBlocked(string)         {}
func (guardMetrics) DuplicateInterval(time.Duration) {}
func (guardMetrics) Expired()                        {}
func (guardMetrics) Cleanup()                        {}

// memoryGuard claims in memory, for tests that are about something else.
type memoryGuard struct {
	mu     sync.Mutex
	orders ordersOf
	claims map[string]string
	err    error
}

func newMemoryGuard(w *world) *memoryGuard {
	return &memoryGuard{orders: ordersOf{w.engine, w.clock.Now}, claims: map[string]string{}}
}

func (g *memoryGuard) Claim(ctx context.Context, digest string, _ guard.Channel, intent string, now time.Time) (guard.Decision, error) {
	return g.claim(ctx, digest, intent, now, false)
}

func (g *memoryGuard) ClaimSecond(ctx context.Context, digest string, _ guard.Channel, intent string, now time.Time) (guard.Decision, error) {
	return g.claim(ctx, digest, intent, now, true)
}

func (g *memoryGuard) claim(ctx context.Context, digest, intent string, now time.Time, second bool) (guard.Decision, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return guard.Decision{}, g.err
	}
	found, err := g.orders.FindOpenOrRecent(ctx, digest)
	if err != nil {
		return guard.Decision{}, err
	}
	d := guard.Decision{Verdict: guard.Claimed}
	holder := g.claims[digest]
	switch {
	case found.Intent != "" && (!second || found.Intent == intent):
		d = guard.Decision{Verdict: guard.Refused, State: found.State, Intent: found.Intent, Reference: found.Reference, Interval: now.Sub(found.At), Ordered: true}
	case holder == intent:
		d = guard.Decision{Verdict: guard.Own, State: guard.Processing, Intent: intent}
	case holder != "" && !second:
		d = guard.Decision{Verdict: guard.Refused, State: guard.Processing, Intent: holder}
	}
	if d.Allowed() {
		g.claims[digest] = intent
		return d, nil
	}
	d.Flow = guard.Text{Key: "guard.flow.in_progress"}
	if d.State == guard.Completed {
		d.Flow = guard.Text{Key: "guard.flow.completed", Args: map[string]string{"minutes": fmt.Sprint(d.Minutes()), "reference": d.Reference}}
	}
	return d, nil
}

func (g *memoryGuard) Free(_ context.Context, digest, intent string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.claims[digest] == intent {
		delete(g.claims, digest)
	}
}

// brokenPrices have a defect.
type brokenPrices struct{}

func (brokenPrices) Price(context.Context, string, string, string) (money.Rate, error) {
	return money.Rate{}, errBroken
}
