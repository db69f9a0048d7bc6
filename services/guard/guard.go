package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// State is the stage of a claim.
type State string

// The states.
const (
	Processing        State = "processing"         // claimed, up to funding
	TransferCompleted State = "transfer_completed" // the hold is placed
	Completed         State = "completed"          // paid
	Failed            State = "failed"             // conclusively not paid, or cancelled
)

// Channel is where a confirmation comes from.
type Channel string

// The channels.
const (
	Flow Channel = "flow" // a screen of the WhatsApp Flow
	Page Channel = "page" // the hosted page a chat button opens; PINs never travel as chat text
)

// Deps are what a Guard needs; all are required.
type Deps struct {
	Client  redis.UniversalClient
	Orders  Orders
	Metrics Metrics
	Log     *slog.Logger
	Now     func() time.Time
}

// Config tunes a Guard; the zero value is right for production.
type Config struct {
	// Prefix of every key, before "offramp:". Empty in production, random in tests.
	Prefix string
	// Installation is the random id of the database that the orders are in; the digest of every key is made over it too,
	// so that claims of another database in the same Redis mean nothing here. Empty only in tests.
	Installation string
	// Timeout is how long Redis may take before the store is asked instead. Zero: 250 ms.
	Timeout time.Duration
	// ContentCheckOff is GUARD_CONTENT_CHECK=off: equal content of another intent no longer refuses. Copies of one
	// intent are still recognised, and what the store guarantees has no switch (W12).
	ContentCheckOff bool
	// TakeOverAfter is how old a processing claim without an order must be before another submission takes it over; a
	// younger one may be in the middle of placing its order. Zero: 15 s, more than a Flow submission may take.
	TakeOverAfter time.Duration
}

// Guard claims sales. It is safe for concurrent use.
type Guard struct {
	client  redis.UniversalClient
	orders  Orders
	metrics Metrics
	log     *slog.Logger
	now     func() time.Time
	cfg     Config
}

// New returns a Guard.
func New(deps Deps, cfg Config) (*Guard, error) {
	missing := ""
	switch {
	case deps.Client == nil:
		missing = "Client"
	case deps.Orders == nil:
		missing = "Orders"
	case deps.Metrics == nil:
		missing = "Metrics"
	case deps.Log == nil:
		missing = "Log"
	case deps.Now == nil:
		missing = "Now"
	}
	if missing != "" {
		return nil, fmt.Errorf("make guard: %s is missing", missing)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 250 * time.Millisecond
	}
	if cfg.TakeOverAfter <= 0 {
		cfg.TakeOverAfter = 15 * time.Second
	}
	return &Guard{
		client: deps.Client, orders: deps.Orders, metrics: deps.Metrics, log: deps.Log, now: deps.Now, cfg: cfg,
	}, nil
}

// Transferred marks that the hold of the intent's order is placed. Like all calls behind a claim it follows a commit
// and never fails the caller: an error is logged, and the store stays the truth.
func (g *Guard) Transferred(ctx context.Context, digest, intent string) {
	g.move(ctx, digest, intent, TransferCompleted, "")
}

// Completed marks that the intent's order was paid.
func (g *Guard) Completed(ctx context.Context, digest, intent string) {
	if g.move(ctx, digest, intent, Completed, "") {
		g.log.InfoContext(ctx, "[OFFRAMP] Transaction marked as completed", "order_id", intent)
	}
}

// Failed marks that the intent's order conclusively failed or was cancelled, which frees its content. An unknown
// outcome is not a failure and must not be reported here (W2).
func (g *Guard) Failed(ctx context.Context, digest, intent string) {
	if g.move(ctx, digest, intent, Failed, "") {
		g.metrics.Cleanup()
	}
}

// Returned marks that the bank gave the money of the intent's paid order back, which frees its content: the one edge on
// which a completed claim becomes failed. News of the payment that comes after it changes nothing.
func (g *Guard) Returned(ctx context.Context, digest, intent string) {
	if g.move(ctx, digest, intent, Failed, Completed) {
		g.metrics.Cleanup()
	}
}

// Renew prolongs the claim of an order that is still open, whatever is unknown about it (W4).
func (g *Guard) Renew(ctx context.Context, digest, intent string) {
	g.report(ctx, intent, "renewed", func(ctx context.Context) (string, error) {
		return renewScript.Eval(ctx, g.client, g.keys(digest),
			intent, g.now().UnixMilli(), Processing.life().Milliseconds()).Text()
	})
}

// Free takes the intent's own claim back while nothing has moved: after a wrong PIN (R61). Somebody else's claim, and
// one that is past processing, stay.
func (g *Guard) Free(ctx context.Context, digest, intent string) {
	g.report(ctx, intent, "freed", func(ctx context.Context) (string, error) {
		return "moved", freeScript.Eval(ctx, g.client, g.keys(digest), intent).Err()
	})
}

// move is one step along the states; it reports whether the claim was there and moved. From leave, if not empty, it may
// also go sideways, to a state of the same rank.
func (g *Guard) move(ctx context.Context, digest, intent string, to, leave State) bool {
	restore := "1"
	if to == Failed { // absent is as free as failed
		restore = "0"
	}
	return g.report(ctx, intent, string(to), func(ctx context.Context) (string, error) {
		return moveScript.Eval(ctx, g.client, g.keys(digest),
			intent, string(to), g.now().UnixMilli(), to.life().Milliseconds(), restore, string(leave)).Text()
	})
}

// report runs one call and turns its answer into logs and metrics.
func (g *Guard) report(
	ctx context.Context, intent, what string, call func(context.Context) (string, error),
) bool {
	callCtx, cancel := context.WithTimeoutCause(ctx, g.cfg.Timeout, errSlow)
	defer cancel()
	answer, err := call(callCtx)
	switch {
	case err != nil:
		g.log.WarnContext(ctx, "guard was not told", "order_id", intent, "step", what, "error", err)
		return false
	case answer == "absent":
		g.metrics.Expired()
	case answer == "other":
		g.log.DebugContext(ctx, "guard belongs to another order", "order_id", intent, "step", what)
	}
	return answer == "moved" || answer == "absent" && what != string(Failed)
}

var errSlow = errors.New("guard: redis did not answer in time")

// claimed is what one script said about a content.
type claimed struct {
	verdict string // claimed, own, refused
	raw     string // the value found
	state   State
	intent  string
	at      time.Time
}

// parse reads an answer of claimScript or takeOverScript. A value that is not ours keeps an empty state, which refuses.
func parse(answer []any) (claimed, error) {
	if len(answer) != 2 {
		return claimed{}, errors.New("read guard's answer: not a pair")
	}
	verdict, ok := answer[0].(string)
	raw, ok2 := answer[1].(string)
	if !ok || !ok2 {
		return claimed{}, errors.New("read guard's answer: not texts")
	}
	c := claimed{verdict: verdict, raw: raw}
	if part := strings.Split(raw, "|"); len(part) == 3 {
		if ms, err := parseMillis(part[2]); err == nil {
			c.state, c.intent, c.at = State(part[0]), part[1], ms
		}
	}
	return c, nil
}
