package outbox

import (
	"errors"
	"math/rand/v2"
	"time"

	"offrampbot/services/loop"
	"offrampbot/services/operation"
)

// Config describes a Worker.
type Config struct {
	// Kind of the operations it serves.
	Kind operation.Kind
	// Owner names this process in leases. The worker adds a number per claim.
	Owner string
	// Lease is OUTBOX_LEASE; provider time-out plus store deadline must be less. Zero: 30 s.
	Lease time.Duration
	// Ordered keeps operations of one lane in order (messages).
	Ordered bool
	// Concurrency is how many operations are worked on at once; a user holds one of the slots at most. Zero: 4.
	Concurrency int
	// MaxTries is how many tries without progress park an operation. Zero: 10.
	MaxTries int
	// BackoffMin doubles with every try up to BackoffMax, jittered by half. Zero: 1 s and 5 min.
	BackoffMin, BackoffMax time.Duration
	// HandleTimeout bounds one try, heartbeats and all. Zero: 2 min.
	HandleTimeout time.Duration
	// StoreTimeout bounds the worker's own transactions. Zero: 5 s.
	StoreTimeout time.Duration
	// Loop tunes Run; Name and Slots are filled in.
	Loop loop.Config
	// MonotonicFunc returns the time since some start, by a clock that nobody sets. Nil: derived from Now.
	MonotonicFunc func() time.Duration
	// JitterFunc returns a random number in [0, n). Nil: the system's.
	JitterFunc func(n int64) int64
}

func (c Config) withDefaults(now func() time.Time) Config {
	for _, d := range []struct {
		at   *time.Duration
		zero time.Duration
	}{
		{&c.Lease, 30 * time.Second}, {&c.BackoffMin, time.Second}, {&c.BackoffMax, 5 * time.Minute},
		{&c.HandleTimeout, 2 * time.Minute}, {&c.StoreTimeout, 5 * time.Second},
	} {
		if *d.at == 0 {
			*d.at = d.zero
		}
	}
	if c.Concurrency == 0 {
		c.Concurrency = 4
	}
	if c.MaxTries == 0 {
		c.MaxTries = 10
	}
	if c.MonotonicFunc == nil {
		start := now()
		c.MonotonicFunc = func() time.Duration { return now().Sub(start) }
	}
	if c.JitterFunc == nil {
		c.JitterFunc = rand.Int64N
	}
	c.Loop.Name, c.Loop.Slots = "outbox "+string(c.Kind), c.Concurrency
	return c
}

func (c Config) validate() error {
	var problems []error
	for _, check := range []struct {
		bad  bool
		text string
	}{
		{c.Kind == "", "Kind is missing"},
		{c.Owner == "", "no Owner is given"},
		{c.Lease < 3*time.Millisecond, "Lease cannot be less than 3 ms"},
		{c.Concurrency < 0, "Concurrency cannot be less than zero"},
		{c.MaxTries < 0, "MaxTries cannot be less than zero"},
		{c.BackoffMin < 0 || c.BackoffMax < c.BackoffMin, "BackoffMax cannot be less than BackoffMin"},
	} {
		if check.bad {
			problems = append(problems, errors.New(check.text))
		}
	}
	return errors.Join(problems...)
}
