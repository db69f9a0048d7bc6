package deposit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/store"
)

// Deps are the parts of a Watcher; all are required.
type Deps struct {
	Source    Source
	Engine    store.Engine
	Addresses Addresses
	Applier   Applier
	Alarms    Alarms
	Now       func() time.Time // UTC, in milliseconds
}

// Config sets up the watcher of one chain.
type Config struct {
	Policy   Policy
	Treasury []string // canonical addresses to which our money may go
	// Holder names this process in the lease; another start has another name.
	Holder string
	// Poll is the time between two polls (CHAIN_POLL). A Step that comes in its first three quarters does nothing; the
	// last is left to the jitter of the loop that steps. Zero: every Step polls.
	Poll time.Duration
	// Lease is the life of the lease, 20 s by default: after a kill another process watches after that time.
	Lease time.Duration
	// Overlap is how many blocks below the cursor are read again (R107): at least the reorg window, by default a quarter
	// more, so that what becomes final is still read for a few polls.
	Overlap int64
	// Chunk is the most blocks asked for at once, 1000 by default; the source splits further by itself.
	Chunk int64
	// MaxBlocks is the most new blocks of one poll, 5000 by default, so that a long catch-up commits its progress.
	MaxBlocks int64
	// Sweep is the time after which every block is read once more, 15 minutes by default: a deposit that a lagging index
	// hid at first is found then at the latest.
	Sweep time.Duration
	// Start is the first height read on a chain without a cursor; nil: the block of the time when the first address was
	// allotted, at the latest the head less the overlap.
	Start *int64
}

const (
	defaultLease     = 20 * time.Second
	defaultSweep     = 15 * time.Minute
	defaultChunk     = 1000
	minMargin        = 8 // blocks of overlap beyond the window
	defaultMaxBlocks = 5000
)

func (c Config) withDefaults() Config {
	if c.Lease == 0 {
		c.Lease = defaultLease
	}
	if c.Sweep == 0 {
		c.Sweep = defaultSweep
	}
	if c.Overlap == 0 {
		c.Overlap = c.Policy.Window + max(minMargin, c.Policy.Window/4)
	}
	if c.Chunk == 0 {
		c.Chunk = defaultChunk
	}
	if c.MaxBlocks == 0 {
		c.MaxBlocks = defaultMaxBlocks
	}
	return c
}

func (c Config) validate() error {
	var problems []error
	check := func(ok bool, text string) {
		if !ok {
			problems = append(problems, errors.New(text))
		}
	}
	check(c.Holder != "", "Holder is empty")
	check(c.Lease > 2*leaseTolerance, "Lease must be longer than twice the clock tolerance of 2 s")
	check(c.Overlap >= c.Policy.Window, "Overlap must reach the reorg window")
	check(c.Chunk >= 1, "Chunk must be at least 1")
	check(c.MaxBlocks >= 1, "MaxBlocks must be at least 1")
	check(c.Poll >= 0, "Poll must not be negative")
	check(c.Sweep > 0, "Sweep must be positive")
	check(c.Start == nil || *c.Start >= 0, "Start must not be negative")
	return errors.Join(append(problems, c.Policy.Validate())...)
}

// Watcher watches one chain. It keeps nothing that matters in memory: every poll reads cursor and deposits from the
// store (G4), so it may be stopped anywhere and started again, here or in another process.
type Watcher struct {
	deps     Deps
	cfg      Config
	treasury map[string]bool
	vitals   *vitals
	due      time.Time           // of the next poll
	held     *Lease              // of the last good poll; its revision is checked by the next commit
	raised   map[string]struct{} // alarms of this process
}

// New returns the watcher of a chain. It refuses a missing part by name and a policy that could lose money.
func New(deps Deps, cfg Config) (*Watcher, error) {
	missing := map[string]bool{
		"Source": deps.Source == nil, "Engine": deps.Engine == nil, "Addresses": deps.Addresses == nil,
		"Applier": deps.Applier == nil, "Alarms": deps.Alarms == nil, "Now": deps.Now == nil,
	}
	for _, name := range []string{"Source", "Engine", "Addresses", "Applier", "Alarms", "Now"} {
		if missing[name] {
			return nil, fmt.Errorf("make deposit watcher: %s is nil", name)
		}
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make deposit watcher: %w", err)
	}
	if deps.Source.Chain() != cfg.Policy.Chain {
		return nil, fmt.Errorf("make deposit watcher: source of chain %s for policy of chain %s",
			deps.Source.Chain(), cfg.Policy.Chain)
	}
	w := &Watcher{
		deps: deps, cfg: cfg, treasury: map[string]bool{}, vitals: newVitals(cfg.Policy.Chain),
		raised: map[string]struct{}{},
	}
	for _, a := range cfg.Treasury {
		if canonical, err := assets.CanonicalAddress(a); err != nil || canonical != a {
			return nil, fmt.Errorf("make deposit watcher: treasury address %s is not in canonical form", a)
		}
		w.treasury[a] = true
	}
	return w, nil
}

// Name is the worker's name, also the id of its lease.
func (w *Watcher) Name() string { return LeaseID(w.cfg.Policy.Chain) }

// Health says how the watcher does; it may be called from any goroutine.
func (w *Watcher) Health() Health { return w.vitals.read() }

// Step does one poll when one is due and this process holds the lease. worked is true while there is more to read at
// once; facts that need a later look wait for the next poll. An error leaves the cursor where it was, and the next poll
// reads the same range again. One goroutine calls Step.
func (w *Watcher) Step(ctx context.Context) (worked bool, err error) {
	now := w.deps.Now()
	if now.Before(w.due) {
		return false, nil
	}
	w.due = now.Add(w.cfg.Poll * 3 / 4)
	lease, ok, err := w.lead(ctx, now)
	w.vitals.change(func(h *Health) { h.Leading = ok })
	if err == nil && !ok {
		return false, nil
	}
	var more bool
	w.held = nil
	if err == nil {
		p := &poll{Watcher: w, lease: lease, now: now}
		if more, err = p.run(ctx); err == nil {
			w.held = &p.lease
		}
	}
	w.vitals.change(func(h *Health) {
		h.Polls++
		h.InARow++
		if err != nil {
			h.Failures++
			return
		}
		h.InARow = 0
	})
	if err != nil {
		return false, fmt.Errorf("watch chain %s: %w", w.cfg.Policy.Chain, err)
	}
	if more {
		w.due = now
	}
	return more, nil
}

// lead takes the lease, or goes on with the one of the last poll while half of it is left.
func (w *Watcher) lead(ctx context.Context, now time.Time) (lease Lease, ok bool, err error) {
	if w.held != nil && w.held.Until.Sub(now) > w.cfg.Lease/2 {
		return *w.held, true, nil
	}
	return takeLease(ctx, w.deps.Engine, w.Name(), w.cfg.Holder, now, w.cfg.Lease)
}

// Release gives the lease back, so that another process need not wait for its end. Call it when the loop that steps has
// ended; a lease of another process is left alone.
func (w *Watcher) Release(ctx context.Context) error {
	w.held = nil
	err := w.deps.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		var l Lease
		err := tx.Get(store.Leases, w.Name(), &l)
		if errors.Is(err, store.ErrNotFound) || (err == nil && l.Owner != w.cfg.Holder) {
			return nil
		}
		if err != nil {
			return err
		}
		// It is ended, not deleted: its revision is the fence and must never start again.
		l.Until = w.deps.Now().Add(-2 * leaseTolerance)
		return tx.Replace(store.Leases, &l)
	})
	if err != nil {
		return fmt.Errorf("release lease %s: %w", w.Name(), err)
	}
	return nil
}

// alarm raises an alarm once per process.
func (w *Watcher) alarm(ctx context.Context, kind, subject, text string) error {
	key := kind + "|" + subject
	if _, ok := w.raised[key]; ok {
		return nil
	}
	if err := w.deps.Alarms.RaiseAlarm(ctx, kind, subject, text); err != nil {
		return fmt.Errorf("raise alarm %s: %w", kind, err)
	}
	w.raised[key] = struct{}{}
	return nil
}
