package deposit

import (
	"maps"
	"sync"
	"time"
)

// Health is how a chain's watcher does, for readiness and metrics. Counters start with the process.
type Health struct {
	Chain    string
	Leading  bool      // this process holds the lease
	PolledAt time.Time // last poll that committed its cursor, by this process
	Head     int64     // newest block of the node
	HeadTime time.Time // its time: an old one means a stalled chain or node
	Cursor   int64     // last block processed
	Behind   bool      // the node is behind the cursor: it lags, or its chain is shorter
	Polls    int64
	Failures int64 // polls that failed
	InARow   int64 // failures since the last good poll
	Facts    map[FactKind]int64
	Ignored  map[string]int64
}

// Lag is how many blocks of the node are not processed yet.
func (h Health) Lag() int64 { return max(0, h.Head-h.Cursor) }

// Age is the time since the last good poll; a process that does not lead has none.
func (h Health) Age(now time.Time) time.Duration {
	if !h.Leading || h.PolledAt.IsZero() {
		return 0
	}
	return now.Sub(h.PolledAt)
}

// vitals guards a Health that other goroutines read.
type vitals struct {
	mu sync.Mutex
	h  Health
}

func newVitals(chain string) *vitals {
	return &vitals{h: Health{Chain: chain, Facts: make(map[FactKind]int64), Ignored: make(map[string]int64)}}
}

func (v *vitals) change(fn func(h *Health)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fn(&v.h)
}

func (v *vitals) read() Health {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.h
	h.Facts, h.Ignored = maps.Clone(h.Facts), maps.Clone(h.Ignored)
	return h
}
