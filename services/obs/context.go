// Package obs is what operators look through: log lines that carry the ids of the work they belong to, and metrics
// with bounded labels. It imports no adapter, so that every adapter may use it.
package obs

import (
	"context"
	"log/slog"
)

// Key names an id that log lines take from the context.
type Key string

// The keys, in the order in which lines show them.
const (
	RequestID   Key = "request_id"   // one HTTP request
	DeliveryID  Key = "delivery_id"  // one receipt of the inbox
	OrderID     Key = "order_id"     // one sale
	OperationID Key = "operation_id" // one record of the outbox
	Provider    Key = "provider"     // whom the work talks to
)

var keys = []Key{RequestID, DeliveryID, OrderID, OperationID, Provider}

// With returns a context whose log lines carry one more id; the same key again replaces it.
func With(ctx context.Context, key Key, value string) context.Context {
	return context.WithValue(ctx, key, value)
}

// Value returns the id of a key, or "".
func Value(ctx context.Context, key Key) string {
	value, _ := ctx.Value(key).(string)
	return value
}

// attrs lists the ids of a context.
func attrs(ctx context.Context) []slog.Attr {
	var out []slog.Attr
	for _, key := range keys {
		if value := Value(ctx, key); value != "" {
			out = append(out, slog.String(string(key), value))
		}
	}
	return out
}
