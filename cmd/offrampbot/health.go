package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"offrampbot/services/deposit"
)

// health knows how the process is.
type health struct {
	a  *app
	mu sync.Mutex

	chains map[string]*deposit.Watcher
	err    error // why it is not ready
	lost   bool  // Redis does not answer
	off    bool  // the clock was not compared yet, or differs so much from the store's that nothing may be done by it
	ending bool  // the process is about to stop
}

func newHealth(a *app) *health {
	return &health{a: a, chains: map[string]*deposit.Watcher{}, off: true}
}

func (h *health) watch(chain string, w *deposit.Watcher) { h.chains[chain] = w }

// stop makes the process say that it is not ready: no new connections, please.
func (h *health) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ending = true
}

// stopping reports whether stop was called.
func (h *health) stopping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ending
}

// ClockIsOff reports whether the clock was so far off when it was last compared, or was never compared, that the process
// must do nothing: its leases would last for minutes, what it stores would be due in the future, and what is due now it would not see.
func (h *health) ClockIsOff() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.off
}

// stuckAfter is how long a loop may stand still.
const stuckAfter = 2 * time.Minute

// Live fails when a worker's loop has stopped turning.
func (h *health) Live() error {
	for _, w := range h.a.workers {
		if last := w.loop.LastTurn(); !last.IsZero() && now().Sub(last) > stuckAfter {
			return fmt.Errorf("worker %s has not turned since %s", w.name, last)
		}
	}
	return nil
}

// Ready reports what the last check found.
func (h *health) Ready(context.Context) (degraded bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending {
		return h.lost, errors.New("process is stopping")
	}
	return h.lost, h.err
}

// The clock may differ from the store's by so much (DESIGN §13, "Running many").
const (
	skewAlert    = 2 * time.Second
	skewNotReady = 10 * time.Second
)

// step checks store, clock and Redis.
func (h *health) step(ctx context.Context) (worked bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.a.cfg.Store.Timeout)
	defer cancel()
	before := now()
	stored, err := h.a.db.Now(ctx)
	isKnown := err == nil
	doubt := now().Sub(before) / 2 // when in the meantime the store looked at its clock nobody knows
	skew := max(stored.Sub(before.Add(doubt)).Abs()-doubt, 0)
	if isKnown {
		h.a.metrics.ClockSkew(skew)
		if skew > skewAlert {
			h.a.log.ErrorContext(ctx, "clock differs from the store's", "skew_ms", skew.Milliseconds())
			h.a.metrics.Alert("clock_skew")
		}
		if skew > skewNotReady {
			err = fmt.Errorf("clock differs from the store's by %s", skew)
		}
	}
	lost := h.a.redis.Ping(ctx).Err() != nil
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err, h.lost = err, lost
	if isKnown {
		h.off = skew > skewNotReady
	}
	return false, nil
}
