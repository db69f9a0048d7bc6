package webhooks

import (
	"context"
	"net/http"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/delivery"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/ratelimit"
)

// Inbox stores receipts durably, each on its own, in one round trip; it seals their bodies. isNew says which of them
// this call stored. A repeat is safe. Any error means that nothing may be acknowledged.
type Inbox interface {
	Store(ctx context.Context, receipts []*delivery.Receipt) (isNew []bool, err error)
}

// Repeats is told that a provider sent a known callback again. It may ask for one more look-up, at most one a minute,
// so that a true callback after a false one of the same key is not lost. A repeat is safe; an error is only logged.
type Repeats interface {
	Repeated(ctx context.Context, receipt string) error
}

// CallbackRail is the part of a payout.Rail that reads its callbacks. Fault code: signature_invalid; any other error
// means that a well-signed body could not be read.
type CallbackRail interface {
	ParseWebhook(body []byte, header func(name string) string) (payout.Callback, error)
	ParseApproval(body []byte, header func(name string) string) (reference string, amount money.Minor, err error)
}

// Approver decides whether a provider may release a payout. It returns nil only when, in one transaction, the attempt
// of the reference is current, the amount is exactly its own, and "approved" is stored on the operation. A repeat gives
// the same answer. Kinds fault.Unavailable and fault.Internal mean that it could not be decided; the provider asks again.
type Approver interface {
	ApprovePayout(ctx context.Context, provider, reference string, amount money.Minor) error
}

// FlowEndpoint answers one encrypted request of a Flow client whose signature is good: status 200, 421 or 427 and the
// body as it goes out. It never fails and waits for nothing outside but cached bank look-ups.
type FlowEndpoint interface {
	Answer(ctx context.Context, body []byte) (status int, answer []byte)
}

// Confirmer applies a trusted confirmation event, see offramp.Service.Confirm for the fault codes. A repeat is safe.
type Confirmer interface {
	Confirm(ctx context.Context, c offramp.Confirmation) (offramp.Confirmed, error)
}

// Staff verifies tokens; fault code unauthorized.
type Staff interface {
	Verify(ctx context.Context, token string) (admin.Identity, error)
}

// Limiter bounds how often something may happen; ids are digests or ids of ours.
type Limiter interface {
	Allow(ctx context.Context, scope, id string, limit ratelimit.Limit) (ok bool, retryAfter time.Duration)
}

// Reads answers the admin's questions. It changes nothing. Fault codes: order_unknown, body_invalid (a cursor or filter
// that cannot be read).
type Reads interface {
	List(ctx context.Context, list admin.List, q admin.Query) (admin.Page, error)
	// Order is one order with its whole story: {order, quote, history, postings, operations, deposits, receipts, audit}.
	Order(ctx context.Context, id string) (any, error)
}

// Changes carries out what staff ask for. Every fault code of the admin API may come back; a refusal changes nothing.
type Changes interface {
	PutSettings(ctx context.Context, c admin.Change, settings map[string]string) (admin.Changed, error)
	AskApproval(ctx context.Context, c admin.Change, action admin.Action, order string) (admin.Changed, error)
	Decide(ctx context.Context, c admin.Change, approval string, approve bool) (admin.Changed, error)
	Redrive(ctx context.Context, c admin.Change, record string) (admin.Changed, error)
	FreezeUser(ctx context.Context, c admin.Change, user string) (admin.Changed, error)
	UnfreezeUser(ctx context.Context, c admin.Change, user string) (admin.Changed, error)
	UnlockUser(ctx context.Context, c admin.Change, user string) (admin.Changed, error)
}

// PageHandler serves one server-rendered admin page. Who is empty for a public page.
type PageHandler func(w http.ResponseWriter, r *http.Request, who admin.Identity)

// AdminPage is one page of /admin. A page without a permission is public: the login and its pictures.
type AdminPage struct {
	Method     string
	Path       string // under /admin, with gin's parameters, which the handler reads with Request.PathValue
	Permission admin.Permission
	Handle     PageHandler
}

// Refusal is why a page is not shown, in words for people.
type Refusal struct {
	Code    string
	Status  int
	Message string
}

// RefusalHandler shows a refusal as a page. Who is empty when the token was not good.
type RefusalHandler func(w http.ResponseWriter, r *http.Request, who admin.Identity, why Refusal)

// Health says how the process is. Neither text reaches a stranger.
type Health interface {
	// Live fails when a worker's loop has stopped turning.
	Live() error
	// Ready fails when the store does not answer, a worker is stuck or the clock is far off; degraded is a lost Redis.
	Ready(ctx context.Context) (degraded bool, err error)
	// ClockIsOff reports whether the clock is so far off, or was not compared yet, that nothing may be taken in by it.
	ClockIsOff() bool
}

// Metrics counts what passes the edge.
type Metrics interface {
	Request(method, route string, status int, took time.Duration)
	Delivery(source, outcome string)
	Panic(where string)
}

// Texts renders the message of an error.
type Texts interface {
	Render(lang, key string, args map[string]string) string
}
