package sandbox

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// maxTries bounds the deliveries of one webhook: with doubling pauses about a day of world time.
const maxTries = 60

// errand is one webhook or call of the world that is due at a time. run reports whether it is over; if not it is tried
// again after a pause that doubles up to a minute.
type errand struct {
	due   time.Time
	seq   int
	tries int
	run   func(ctx context.Context) (over bool)
}

// queue holds errands by due time.
type queue struct {
	mu      sync.Mutex
	now     func() time.Time
	base    time.Duration
	seq     int
	errands errandHeap
	ready   chan struct{}
}

func newQueue(now func() time.Time, base time.Duration) *queue {
	return &queue{now: now, base: base, ready: make(chan struct{}, queueWorkers)}
}

// queueWorkers is how many webhooks are delivered at the same time.
const queueWorkers = 48

// add puts an errand in, due after a delay.
func (q *queue) add(delay time.Duration, run func(ctx context.Context) bool) {
	q.push(&errand{due: q.now().Add(delay), run: run})
}

func (q *queue) push(e *errand) {
	q.mu.Lock()
	q.seq++
	e.seq = q.seq
	heap.Push(&q.errands, e)
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// pop takes the first errand when it is due; otherwise it says how long until the first one is, or that there is none.
func (q *queue) pop() (e *errand, wait time.Duration, any bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.errands) == 0 {
		return nil, 0, false
	}
	if wait = q.errands[0].due.Sub(q.now()); wait > 0 {
		return nil, wait, true
	}
	e = heap.Pop(&q.errands).(*errand)
	if len(q.errands) > 0 {
		q.signal()
	}
	return e, 0, true
}

// step runs the first due errand and reports whether there was one.
func (q *queue) step(ctx context.Context) bool {
	e, _, _ := q.pop()
	if e == nil {
		return false
	}
	q.perform(ctx, e)
	return true
}

func (q *queue) perform(ctx context.Context, e *errand) {
	if e.run(ctx) || ctx.Err() != nil {
		return
	}
	e.tries++
	if e.tries >= maxTries {
		return
	}
	pause := min(q.base<<min(e.tries-1, 10), max(time.Minute, q.base))
	e.due = q.now().Add(pause)
	q.push(e)
}

// work performs errands until ctx ends.
func (q *queue) work(ctx context.Context) {
	for ctx.Err() == nil {
		e, wait, any := q.pop()
		if e != nil {
			q.perform(ctx, e)
			continue
		}
		if !any {
			wait = time.Hour // until somebody signals
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-q.ready:
		case <-timer.C:
		}
		timer.Stop()
	}
}

type errandHeap []*errand

func (h errandHeap) Len() int { return len(h) }
func (h errandHeap) Less(i, k int) bool {
	if h[i].due.Equal(h[k].due) {
		return h[i].seq < h[k].seq
	}
	return h[i].due.Before(h[k].due)
}
func (h errandHeap) Swap(i, k int) { h[i], h[k] = h[k], h[i] }

// Push implements heap.Interface.
func (h *errandHeap) Push(x any) { *h = append(*h, x.(*errand)) }

// Pop implements heap.Interface.
func (h *errandHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
