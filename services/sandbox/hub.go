package sandbox

import (
	"context"
	"sync"
	"time"
)

// event is one thing that happened in the world, told to the phone page. Kind: message, status, flow, bank, chain,
// fault, delivery.
type event struct {
	Seq   int64     `json:"seq"`
	Kind  string    `json:"kind"`
	Phone string    `json:"phone,omitempty"`
	Chain string    `json:"chain,omitempty"`
	ID    string    `json:"id,omitempty"`
	Text  string    `json:"text,omitempty"`
	At    time.Time `json:"at"`
}

// hubKeeps is how many events a reader may lag behind before it misses some.
const hubKeeps = 2000

// hub keeps the last events and wakes whoever waits for the next one.
type hub struct {
	mu     sync.Mutex
	now    func() time.Time
	seq    int64
	events []event
	wake   chan struct{}
}

func newHub(now func() time.Time) *hub {
	return &hub{now: now, wake: make(chan struct{})}
}

// tell records an event and wakes every waiting reader.
func (h *hub) tell(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	e.Seq, e.At = h.seq, h.now()
	h.events = append(h.events, e)
	if len(h.events) > 2*hubKeeps {
		h.events = append([]event(nil), h.events[len(h.events)-hubKeeps:]...)
	}
	close(h.wake)
	h.wake = make(chan struct{})
}

// since returns the events after a sequence number, the last sequence number, and a channel that closes at the next one.
func (h *hub) since(after int64) ([]event, int64, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := len(h.events)
	for first > 0 && h.events[first-1].Seq > after {
		first--
	}
	return append([]event(nil), h.events[first:]...), h.seq, h.wake
}

// wait returns events after a sequence number as soon as there are any, and none when ctx ends or stop closes first.
func (h *hub) wait(ctx context.Context, stop <-chan struct{}, after int64) ([]event, int64) {
	for {
		found, last, wake := h.since(after)
		if len(found) > 0 {
			return found, last
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, last
		case <-stop:
			return nil, last
		}
	}
}
