package user

import (
	"context"

	"offrampbot/services/fault"
)

// gate bounds the argon2 work of the process (D4s): some hashes run, some wait, the rest are told to try again. Each
// hash takes 19 MiB, so the bound is also one of memory.
type gate struct {
	admitted chan struct{} // running and waiting
	running  chan struct{}
}

func newGate(parallel, queue int) *gate {
	return &gate{admitted: make(chan struct{}, parallel+queue), running: make(chan struct{}, parallel)}
}

// enter takes a place in the queue, or fails at once with fault code pin_busy. The place is given back by leave.
func (g *gate) enter() error {
	select {
	case g.admitted <- struct{}{}:
		return nil
	default:
		return fault.New("pin_busy", nil)
	}
}

// leave gives the place back.
func (g *gate) leave() { <-g.admitted }

// run calls work when its turn comes, or fails when ctx ends first. The caller has a place.
func (g *gate) run(ctx context.Context, work func()) error {
	select {
	case g.running <- struct{}{}:
	case <-ctx.Done():
		return fault.New("pin_busy", context.Cause(ctx))
	}
	defer func() { <-g.running }()
	work()
	return nil
}
