package inbox

import (
	"errors"
	"math/rand/v2"
	"time"

	"offrampbot/services/loop"
)

// Config describes a Worker.
type Config struct {
	// Owner names this process in leases. The worker adds a number per claim.
	Owner string
	// Concurrency is how many partitions are worked on at once. Zero: 8.
	Concurrency int
	// Lease is how long one receipt may be in hand, HandleTimeout how long its handler may work. Zero: 30 s and two
	// thirds of the lease.
	Lease, HandleTimeout time.Duration
	// BackoffMin doubles with every try up to BackoffMax, jittered by half. Zero: 500 ms and 10 s.
	BackoffMin, BackoffMax time.Duration
	// StoreTimeout bounds the worker's own transactions. Zero: 5 s.
	StoreTimeout time.Duration
	// Loop tunes Run; Name and Slots are filled in.
	Loop loop.Config
	// JitterFunc returns a random number in [0, n). Nil: the system's.
	JitterFunc func(n int64) int64
}

func (c Config) withDefaults() Config {
	if c.Lease == 0 {
		c.Lease = 30 * time.Second
	}
	if c.HandleTimeout == 0 {
		c.HandleTimeout = c.Lease * 2 / 3
	}
	if c.BackoffMin == 0 {
		c.BackoffMin = 500 * time.Millisecond
	}
	if c.BackoffMax == 0 {
		c.BackoffMax = 10 * time.Second
	}
	if c.StoreTimeout == 0 {
		c.StoreTimeout = 5 * time.Second
	}
	if c.Concurrency == 0 {
		c.Concurrency = 8
	}
	if c.JitterFunc == nil {
		c.JitterFunc = rand.Int64N
	}
	c.Loop.Name, c.Loop.Slots = "inbox", c.Concurrency
	return c
}

func (c Config) validate() error {
	var problems []error
	if c.Owner == "" {
		problems = append(problems, errors.New("no Owner is given"))
	}
	if c.HandleTimeout >= c.Lease {
		problems = append(problems, errors.New("HandleTimeout must be less than Lease"))
	}
	if c.BackoffMax < c.BackoffMin {
		problems = append(problems, errors.New("BackoffMax cannot be less than BackoffMin"))
	}
	return errors.Join(problems...)
}
