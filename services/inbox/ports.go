package inbox

import (
	"context"

	"offrampbot/services/delivery"
)

// Handler turns receipts of one source into effects. It commits its effect together with delivery.Finish in one Update
// and returns nil once it has. delivery.ErrUnhandled keeps a receipt of a kind that it does not know; any other error
// means that nothing was decided, and after five tries the receipt is parked. It calls nothing outside: that is the
// outbox's part. delivery.BacklogFrom tells whether it answers or leaves the answer to the last of a burst.
type Handler interface {
	Handle(ctx context.Context, r *delivery.Receipt, body []byte) error
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, r *delivery.Receipt, body []byte) error

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, r *delivery.Receipt, body []byte) error {
	return f(ctx, r, body)
}

// Sealer seals bodies at rest; record is the receipt's id, as associated data. Both calls are pure and may be repeated.
type Sealer interface {
	Seal(plain []byte, record string) ([]byte, error)
	Open(sealed []byte, record string) ([]byte, error)
}

// Metrics counts what an operator must see.
type Metrics interface {
	// DeliveryConflict counts a delivery whose id is known with another fingerprint (R18).
	DeliveryConflict(source string)
	// DeliveryParked counts a receipt set aside: after five tries, or of an unknown kind.
	DeliveryParked(source string)
}
