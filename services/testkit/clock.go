package testkit

import (
	"sync"
	"time"
)

// Clock is a clock that moves only when it is told to. It is safe for concurrent use.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that stands at this time.
func NewClock(at time.Time) *Clock { return &Clock{at: at.UTC().Truncate(time.Millisecond)} }

// Noon returns a clock that stands at a fixed, unremarkable time: noon UTC on Wednesday, 3 June 2026.
func Noon() *Clock { return NewClock(time.Date(2026, time.June, 3, 12, 0, 0, 0, time.UTC)) }

// Now is the time of the clock: UTC, whole milliseconds. Pass it as `now func() time.Time`.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves the clock on, or back if d is negative, and returns the new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d).Truncate(time.Millisecond)
	return c.at
}

// Set moves the clock to a time.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at.UTC().Truncate(time.Millisecond)
}
