package outbox

import (
	"context"

	"offrampbot/services/operation"
)

// Handler carries out operations of one kind. It commits its outcome itself, in an Update that begins with
// operation.Hold under the lease, and returns nil once it has. An error means that nothing was decided: the worker
// tries again later, and after a bounded number of tries parks. ctx ends with cause operation.ErrLeaseLost when the
// lease is lost and with loop.ErrStop when the process stops; operation.Left tells how long the lease still lasts.
type Handler interface {
	Handle(ctx context.Context, op *operation.Operation, lease operation.Lease) error
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, op *operation.Operation, lease operation.Lease) error

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
	return f(ctx, op, lease)
}

// Parker parks an operation that could not be carried out. Where money is concerned the order service implements it:
// it parks and raises the event that moves the order on in one transaction, under op.Lease (DESIGN §7 rule 9). It may
// be called again for the same operation after an error.
type Parker interface {
	OnPark(ctx context.Context, op *operation.Operation, reason string) error
}
