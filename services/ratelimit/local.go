package ratelimit

import (
	"sync"
	"time"
)

// local is the same GCRA as the script's, in memory and for one process.
type local struct {
	mu   sync.Mutex
	most int
	full map[string]time.Time // when the bucket of a key will be empty again (its theoretical arrival time)
}

func newLocal(most int) *local { return &local{most: most, full: make(map[string]time.Time)} }

func (b *local) allow(key string, limit Limit, now time.Time) (bool, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	arrival, known := b.full[key]
	if !known && len(b.full) >= b.most {
		b.shrink(now)
	}
	if arrival.Before(now) {
		arrival = now
	}
	arrival = arrival.Add(limit.every())
	// An event may come as early as the burst lets the bucket run ahead of time.
	if wait := arrival.Sub(now) - time.Duration(limit.burst())*limit.every(); wait > 0 {
		return false, wait
	}
	b.full[key] = arrival
	return true, 0
}

// shrink forgets the keys whose buckets are empty; when none is, it forgets all: memory stays bounded, and a flood of
// ids gets one more burst.
func (b *local) shrink(now time.Time) {
	for key, arrival := range b.full {
		if !arrival.After(now) {
			delete(b.full, key)
		}
	}
	if len(b.full) >= b.most {
		clear(b.full)
	}
}
