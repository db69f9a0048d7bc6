package sandbox

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// maxTries bounds the deliveries of one webhook: with doubling pauses about a day of world time.
const maxTries = 60

// job is one webhook or call of the world that is due at a time. run reports whether it is over; if not it is tried
// again after a pause that doubles up to a minute.
type job struct {
	due   time.Time
	seq   int
	tries int
	run   func(ctx context.Context) (over bool)
}

// queue holds jobs by due time.
type queue struct {
	mu    sync.Mutex
	now   func() time.Time
	base  time.Duration
	seq   int
	jobs  jobHeap
	ready chan struct{}
}

func newQueue(now func() time.Time, base time.Duration) *queue {
	return &queue{now: now, base: base, ready: make(chan struct{}, queueWorkers)}
}

// queueWorkers is how many webhooks are delivered at the same time.
const queueWorkers = 48

// add puts a job in, due after a delay.
func (q *queue) add(delay time.Duration, run func(ctx context.Context) bool) {
	q.push(&job{due: q.now().Add(delay), run: run})
}

func (q *queue) push(j *job) {
	q.mu.Lock()
	q.seq++
	j.seq = q.seq
	heap.Push(&q.jobs, j)
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// pop takes the first job when it is due; otherwise it says how long until the first one is, or that there is none.
func (q *queue) pop() (j *job, wait time.Duration, any bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 {
		return nil, 0, false
	}
	if wait = q.jobs[0].due.Sub(q.now()); wait > 0 {
		return nil, wait, true
	}
	j = heap.Pop(&q.jobs).(*job)
	if len(q.jobs) > 0 {
		q.signal()
	}
	return j, 0, true
}

// step runs the first due job and reports whether there was one.
func (q *queue) step(ctx context.Context) bool {
	j, _, _ := q.pop()
	if j == nil {
		return false
	}
	q.perform(ctx, j)
	return true
}

func (q *queue) perform(ctx context.Context, j *job) {
	if j.run(ctx) || ctx.Err() != nil {
		return
	}
	j.tries++
	if j.tries >= maxTries {
		return
	}
	pause := min(q.base<<min(j.tries-1, 10), max(time.Minute, q.base))
	j.due = q.now().Add(pause)
	q.push(j)
}

// work performs jobs until ctx ends.
func (q *queue) work(ctx context.Context) {
	for ctx.Err() == nil {
		j, wait, any := q.pop()
		if j != nil {
			q.perform(ctx, j)
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

type jobHeap []*job

func (h jobHeap) Len() int { return len(h) }
func (h jobHeap) Less(i, k int) bool {
	if h[i].due.Equal(h[k].due) {
		return h[i].seq < h[k].seq
	}
	return h[i].due.Before(h[k].due)
}
func (h jobHeap) Swap(i, k int) { h[i], h[k] = h[k], h[i] }

// Push implements heap.Interface.
func (h *jobHeap) Push(x any) { *h = append(*h, x.(*job)) }

// Pop implements heap.Interface.
func (h *jobHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
