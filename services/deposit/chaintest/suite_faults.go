package chaintest

import (
	"fmt"
	"testing"
	"time"
)

// runFaults lets each method of the node fail once in each way, in the middle of a story with a reorganisation.
func runFaults(t *testing.T, newWorld func(t *testing.T) *World, setup Setup) {
	t.Helper()
	methods := []string{"eth_getBlockByNumber", "eth_getLogs", "eth_getTransactionReceipt"}
	for _, method := range methods {
		for _, kind := range FaultKinds() {
			t.Run(fmt.Sprintf("%s fails once with %s", method, kind), func(t *testing.T) {
				faultStory(t, newSession(t, newWorld(t), setup), method, kind)
			})
		}
	}
}

// faultStory credits, reverses and credits again, with one fault before every poll.
func faultStory(_ *testing.T, s *session, method, kind string) {
	step := func() {
		s.Node.Fail(method, kind, 1)
		_, err := s.watcher.Step(s.t.Context())
		if err != nil {
			s.clock.Advance(time.Second)
		}
		s.Node.Fail(method, kind, 0)
		s.poll()
	}
	kept, gone := s.Pay(s.alice, "USDT", 25), s.Pay(s.bob, "USDT", 5)
	for range 4 {
		s.Mine(1)
		step()
	}
	s.wantSteps(kept, "credit")
	s.Reorg(4, gone)
	for range 4 {
		step()
	}
	for range 3 {
		s.Mine(1)
		step()
	}
	s.settle()
	s.wantSteps(kept, "credit", "reverse", "credit")
	s.wantSteps(gone, "credit", "reverse")
	s.wantHeld("alice", "USDT", 25)
	s.wantHeld("bob", "USDT", 0)
}
