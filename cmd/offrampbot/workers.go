package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"offrampbot/services/audit"
	"offrampbot/services/chains/evm"
	"offrampbot/services/config"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/figures"
	"offrampbot/services/inbox"
	"offrampbot/services/loop"
	"offrampbot/services/operation"
	"offrampbot/services/outbox"
	"offrampbot/services/store"
)

// worker is one named loop.
type worker struct {
	name string
	loop runner
}

// runner runs until its context ends; LastTurn is when it last went round.
type runner interface {
	Run(ctx context.Context) error
	LastTurn() time.Time
}

// openWorkers makes every loop of the process.
func (a *app) openWorkers(ctx context.Context, _ tune) error {
	for _, open := range []func(context.Context) error{a.openInbox, a.openOutbox, a.openChains, a.openSweeps} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) add(name string, l runner, err error) error {
	if err != nil {
		return fmt.Errorf("make worker %s: %w", name, err)
	}
	a.workers = append(a.workers, worker{name, l})
	return nil
}

func (a *app) openInbox(context.Context) error {
	w, err := inbox.NewWorker(inbox.Deps{
		Engine: a.db, Sealer: a.sealer, Metrics: inboxMetrics{a.metrics}, Log: a.log, Now: now,
		Handlers: map[delivery.Source]inbox.Handler{
			delivery.Message: a.lockedMessages(inbox.HandlerFunc(a.bot.Handle)),
			delivery.Status:  statuses{a},
			delivery.Account: accounts{a},
			delivery.Payout:  payoutCallbacks{a},
		},
	}, inbox.Config{
		Owner: a.owner, Lease: a.cfg.Times.OutboxLease, StoreTimeout: a.cfg.Store.Timeout, Loop: loop.Config{HoldFunc: a.health.ClockIsOff},
	})
	return a.add("inbox", w, err)
}

// lane is how one kind of operation is carried out.
type lane struct {
	kind        operation.Kind
	handler     outbox.HandlerFunc
	parker      outbox.Parker
	concurrency int
	ordered     bool
}

// lanes are the outbox workers: each kind its own, so that a slow provider never starves messages. What concerns an order
// is parked by the order service, which moves the order or tells people (rule 9).
func (a *app) lanes() []lane {
	return []lane{
		{operation.StartExchange, a.lockedOrder(a.orders.Exchange), a.orders, 8, false},
		{operation.Payout, a.lockedOrder(a.orders.Payout), a.orders, 8, false},
		{operation.LookUp, a.lockedOrder(a.orders.LookUp), a.orders, 8, false},
		{operation.Notify, a.sender.Handle, nil, 16, true},
		{operation.Read, a.markRead, nil, 4, false},
		{operation.Alert, a.alert, nil, 2, false},
	}
}

func (a *app) openOutbox(context.Context) error {
	for _, lane := range a.lanes() {
		w, err := outbox.New(outbox.Deps{Engine: a.db, Handler: lane.handler, Parker: lane.parker, Log: a.log, Now: now}, outbox.Config{
			Kind: lane.kind, Owner: a.owner, Lease: a.cfg.Times.OutboxLease, Ordered: lane.ordered, Concurrency: lane.concurrency,
			StoreTimeout: a.cfg.Store.Timeout, MonotonicFunc: monotonic(), Loop: loop.Config{HoldFunc: a.health.ClockIsOff},
		})
		if err := a.add("outbox "+string(lane.kind), w, err); err != nil {
			return err
		}
	}
	return nil
}

// monotonic is the time since now, by a clock that nobody sets.
func monotonic() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// openChains makes a watcher for each chain. One without a node is refused: its deposit addresses would be shown, and
// nobody would see what is sent there.
func (a *app) openChains(ctx context.Context) error {
	addresses, err := deposit.NewBook(a.db, a.book)
	if err != nil {
		return err
	}
	treasury, err := treasuryOf(a.cfg)
	if err != nil {
		return err
	}
	for _, chain := range a.registry.Chains() {
		source, err := a.source(chain)
		if err != nil {
			return err
		}
		if source == nil {
			return fmt.Errorf("chain %s has no node: set %s, or leave the chain out of REGISTRY_FILE", chain.ID, config.ChainVariable(chain.ID))
		}
		if err := checkChain(ctx, source, a.cfg.Times.ProviderTimeout); err != nil {
			return err
		}
		policy, err := deposit.PolicyOf(a.registry, chain.ID)
		if err != nil {
			return err
		}
		w, err := deposit.New(deposit.Deps{
			Source: source, Engine: a.db, Addresses: addresses, Applier: a.orders, Alarms: alarms{a}, Now: nowMillis,
		}, deposit.Config{Policy: policy, Treasury: treasury, Holder: a.owner, Poll: a.cfg.Times.ChainPoll})
		if err != nil {
			return err
		}
		l, err := loop.OfStep(a.counted("watch", w.Step), nil, now, a.log, loop.Config{
			Name: "watch " + chain.ID, Idle: a.cfg.Times.ChainPoll, HoldFunc: a.health.ClockIsOff,
		})
		if err := a.add("watch "+chain.ID, l, err); err != nil {
			return err
		}
		a.health.watch(chain.ID, w)
	}
	return nil
}

// checkChain refuses nodes of another chain. A node that does not answer now is asked again by the watcher.
func checkChain(ctx context.Context, source deposit.Source, patience time.Duration) error {
	node, ok := source.(interface {
		Check(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("node did not say its chain in time"))
	defer cancel()
	if err := node.Check(ctx); errors.Is(err, evm.ErrChainID) {
		return err
	}
	return nil
}

func nowMillis() time.Time { return now().Truncate(time.Millisecond) }

// openSweeps makes the loops that find what is due by its documents.
func (a *app) openSweeps(context.Context) error {
	sweeper, err := inbox.NewSweeper(a.db, now)
	if err != nil {
		return err
	}
	roll, err := figures.New(a.db, now)
	if err != nil {
		return err
	}
	checkpoint, err := audit.NewCheckpointer(a.db, time.Hour, now)
	if err != nil {
		return err
	}
	watchman, statements, err := a.openWatchman()
	if err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		step loop.Step
		wake <-chan struct{}
		idle time.Duration
	}{
		{"timers", a.orders.SweepTimers, a.db.Watch(store.Orders), 500 * time.Millisecond},
		{"inbox sweep", sweeper.Step, nil, time.Minute},
		{"staff sweep", a.staff.Step, nil, time.Minute},
		{"figures", roll.Step, nil, 30 * time.Second},
		{"health", a.health.step, nil, 2 * time.Second},
		{"abandoned transactions", a.endAbandoned, nil, 2 * time.Second},
		{"gauges", a.gauges, nil, 15 * time.Second},
		{"checkpoint", checkpoint.Step, nil, 5 * time.Minute},
		{"watchman", watchman, nil, 15 * time.Second},
		{"statements", statements, nil, time.Minute},
	} {
		cfg := loop.Config{Name: s.name, Idle: s.idle, HoldFunc: a.health.ClockIsOff}
		if s.name == "health" { // it is who looks at the clock
			cfg.HoldFunc = nil
		}
		l, err := loop.OfStep(a.counted(s.name, s.step), s.wake, now, a.log, cfg)
		if err := a.add(s.name, l, err); err != nil {
			return err
		}
	}
	return nil
}

// endAbandoned frees what processes that died in the middle of a transaction still hold at the store.
func (a *app) endAbandoned(ctx context.Context) (worked bool, err error) {
	ended, err := a.db.EndAbandoned(ctx)
	if ended > 0 {
		a.log.WarnContext(ctx, "transactions of dead processes ended", "count", ended)
	}
	return false, err
}

// runWorkers runs every loop until ctx ends and they have stopped, softly first.
func (a *app) runWorkers(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, w := range a.workers {
		g.Go(func() error {
			if err := w.loop.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("worker %s: %w", w.name, err)
			}
			return nil
		})
	}
	err := g.Wait()
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), a.cfg.Store.Timeout, errors.New("giving the chains back took too long"))
	defer cancel()
	for _, w := range a.health.chains { // another process may watch at once
		err = errors.Join(err, w.Release(ctx))
	}
	return err
}
