package payouttest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/payout"
)

// Harness is a rail under test.
type Harness struct {
	Dialect Dialect
	// NewRail makes the rail against an address, with secrets Key and PreviousKey.
	NewRail func(t *testing.T, url string) payout.Rail
	// Request is a payout that the rail can send; the suite changes its reference.
	Request payout.Request
}

// The secrets that NewRail uses.
const (
	Key         = "sk_test_active"
	PreviousKey = "sk_test_previous"
)

// bench is one rail against one fresh server.
type bench struct {
	Harness
	server *Server
	rail   payout.Rail
	req    payout.Request
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Helper()
	newBench := func(t *testing.T) *bench {
		t.Helper()
		t.Parallel()
		b := &bench{Harness: h, server: newServer(t, h.Dialect), req: h.Request}
		b.req.Reference = "ofr-suite-reference-0001"
		b.rail = h.NewRail(t, b.server.URL)
		return b
	}
	for _, e := range endings {
		t.Run("first send, "+e.kind, func(t *testing.T) { newBench(t).firstSend(t, e) })
		t.Run("retry, "+e.kind, func(t *testing.T) { newBench(t).retry(t, e) })
		t.Run("look-up, "+e.kind, func(t *testing.T) { newBench(t).lookUp(t, e) })
		t.Run("look-up of a duplicate, "+e.kind, func(t *testing.T) { newBench(t).lookUpOfDuplicate(t, e) })
	}
	for name, run := range map[string]func(b *bench, t *testing.T){
		"an honest send is accepted and ends by look-up":            (*bench).honest,
		"a duplicate reference is looked up":                        (*bench).duplicate,
		"a duplicate of another payout is unknown":                  (*bench).foreignDuplicate,
		"a duplicate that cannot be found is unknown":               (*bench).contradiction,
		"404 and then found":                                        (*bench).lateVisibility,
		"the webhook comes before the reply":                        (*bench).webhookFirst,
		"reversed after success":                                    (*bench).reversedLater,
		"only words that are known mean something":                  (*bench).unheardOfWords,
		"what cannot be right is refused without a call":            (*bench).refusals,
		"25 sends at once of one reference pay once":                (*bench).race,
		"a send that was given up before it began does nothing":     (*bench).cancelled,
		"webhooks are verified over the raw body":                   (*bench).webhooks,
		"approvals are verified and name reference and amount":      (*bench).approvals,
		"a limit of requests says when to come back":                (*bench).rateLimit,
		"a look-up of what this rail cannot have sent is no answer": (*bench).strangeReference,
	} {
		t.Run(name, func(t *testing.T) { run(newBench(t), t) })
	}
}

// send pays; a hanging call is given up as soon as the server has it.
func (b *bench) send(t *testing.T) payout.Result {
	t.Helper()
	ctx, stop := b.impatient(t)
	defer stop()
	return b.rail.Send(ctx, b.req)
}

// look looks the reference up, as send does.
func (b *bench) look(t *testing.T) payout.Result {
	t.Helper()
	ctx, stop := b.impatient(t)
	defer stop()
	return b.rail.LookUp(ctx, b.req.Reference)
}

// impatient is a context that ends when a call hangs.
func (b *bench) impatient(t *testing.T) (ctx context.Context, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		select {
		case <-b.server.reached:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// wantOnce is the end of every story: an honest repeat of the same reference, and one transfer.
func (b *bench) wantOnce(t *testing.T) {
	t.Helper()
	got := b.send(t)
	require.Equal(t, payout.Accepted, got.Outcome, got.Reason)
	require.Equal(t, 1, b.server.made(b.req.Reference))
	b.server.settle(b.req.Reference, b.Dialect.Paid())
	paid := b.look(t)
	require.Equal(t, payout.Success, paid.Outcome, paid.Reason)
	require.Equal(t, b.req.Amount, paid.Amount)
	require.Equal(t, b.req.Currency, paid.Currency)
	require.Equal(t, b.req.Reference, paid.Reference)
}
