package payouttest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
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

// ending is how a faulty call must end, and whether the provider has the transfer afterwards.
type ending struct {
	kind    string
	outcome payout.Outcome
	isMade  bool
}

// endings is every fault kind of DESIGN §14, and some more, on the first call of a reference.
var endings = []ending{
	{"lost_reply", payout.Unknown, true},
	{"hang", payout.Unknown, false},
	{"reset", payout.Unknown, false},
	{"reset_after", payout.Unknown, true},
	{"http_500", payout.Unknown, false},
	{"http_500_after", payout.Unknown, true},
	{"http_502", payout.Unknown, false},
	{"html", payout.Unknown, false},
	{"html_404", payout.Unknown, false},
	{"bare_404", payout.Unknown, false},
	{"redirect", payout.Unknown, false},
	{"empty", payout.Unknown, true},
	{"null", payout.Unknown, true},
	{"list", payout.Unknown, true},
	{"cut", payout.Unknown, true},
	{"cut_json", payout.Unknown, true},
	{"twice", payout.Unknown, true},
	{"accepted_202", payout.Unknown, true},
	{"huge", payout.Unknown, true},
	{"wrong_amount", payout.Unknown, true},
	{"wrong_reference", payout.Unknown, true},
	{"wrong_currency", payout.Unknown, true},
	{"status:teleported", payout.Unknown, true},
	{"rate_limited", payout.NotNow, false},
	{"float_empty", payout.NotNow, false},
}

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

// firstSend: the first call of a reference ends badly.
func (b *bench) firstSend(t *testing.T, e ending) {
	b.server.script("transfer", e.kind)
	got := b.send(t)
	require.Equal(t, e.outcome, got.Outcome, got.Reason)
	require.True(t, got.Found, "only a look-up may say that a reference is unknown to the provider")
	require.NotEmpty(t, got.Reason)
	require.NotContains(t, got.Reason, string(b.req.Account), "a reason is logged")
	found := b.look(t)
	require.Equal(t, e.isMade, found.Found)
	if e.isMade {
		require.Equal(t, payout.Accepted, found.Outcome)
		require.Equal(t, 1, b.server.made(b.req.Reference))
	}
	b.wantOnce(t)
}

// retry: the reply of the first call was lost and the provider has the transfer; the second call ends badly. Its failure
// must not be taken for the first one's.
func (b *bench) retry(t *testing.T, e ending) {
	b.server.script("transfer", "lost_reply", e.kind)
	require.Equal(t, payout.Unknown, b.send(t).Outcome)
	got := b.send(t)
	require.NotContains(t, []payout.Outcome{payout.Failed, payout.Reversed, payout.Success}, got.Outcome, got.Reason)
	require.True(t, got.Found)
	b.wantOnce(t)
}

// lookUp: the provider has paid, and the look-up ends badly. Nothing may be learnt from that.
func (b *bench) lookUp(t *testing.T, e ending) {
	require.Equal(t, payout.Accepted, b.send(t).Outcome)
	b.server.settle(b.req.Reference, b.Dialect.Paid())
	kind := e.kind
	if kind == "wrong_amount" {
		kind = "status:" // the caller compares amounts; a status that is missing is for us to see
	}
	b.server.script("verify", kind)
	asked := b.server.called("verify")
	got := b.look(t)
	require.True(t, got.Found, "not having learnt anything is not knowing that there is nothing")
	if b.server.called("verify") > asked+1 {
		// A transport may repeat a question, which changes nothing, when a connection broke; then it was answered.
		require.Equal(t, payout.Success, got.Outcome)
		return
	}
	require.Equal(t, payout.Unknown, got.Outcome, got.Reason)
	require.Equal(t, payout.Success, b.look(t).Outcome)
}

// lookUpOfDuplicate: a repeat is answered "exists", and the look-up behind it ends badly.
func (b *bench) lookUpOfDuplicate(t *testing.T, e ending) {
	b.server.script("transfer", "lost_reply")
	require.Equal(t, payout.Unknown, b.send(t).Outcome)
	b.server.script("verify", e.kind)
	asked := b.server.called("verify")
	got := b.send(t)
	require.True(t, got.Found)
	if b.server.called("verify") > asked+1 { // asked again by the transport, see lookUp
		require.Equal(t, payout.Accepted, got.Outcome, got.Reason)
	} else {
		require.Equal(t, payout.Unknown, got.Outcome, got.Reason)
	}
	b.wantOnce(t)
}

func (b *bench) honest(t *testing.T) {
	require.True(t, b.rail.SameReferenceSafe(), "this suite is for rails that refuse a second transfer of one reference")
	unknown := b.look(t)
	require.False(t, unknown.Found)
	require.Equal(t, payout.Unknown, unknown.Outcome)
	got := b.send(t)
	require.Equal(t, payout.Accepted, got.Outcome, got.Reason)
	require.Equal(t, b.req.Reference, got.Reference)
	require.Equal(t, payout.Accepted, b.look(t).Outcome)
	b.server.settle(b.req.Reference, b.Dialect.Failed())
	failed := b.look(t)
	require.Equal(t, payout.Failed, failed.Outcome)
	require.True(t, failed.Found)
	require.Equal(t, 1, b.server.made(b.req.Reference))
}

func (b *bench) duplicate(t *testing.T) {
	require.Equal(t, payout.Accepted, b.send(t).Outcome)
	require.Equal(t, payout.Accepted, b.send(t).Outcome)
	b.server.settle(b.req.Reference, b.Dialect.Paid())
	got := b.send(t)
	require.Equal(t, payout.Success, got.Outcome, "never a refusal")
	require.Equal(t, 1, b.server.made(b.req.Reference))
}

func (b *bench) foreignDuplicate(t *testing.T) {
	other := Transfer{
		Reference: b.req.Reference, Amount: b.req.Amount + 1, Currency: b.req.Currency, Account: string(b.req.Account),
		BankCode: b.req.BankCode, Status: b.Dialect.Failed(),
	}
	b.server.put(other)
	require.Equal(t, payout.Unknown, b.send(t).Outcome, "another amount: its failure is not ours")
	other.Amount, other.Account = b.req.Amount, "9999999999"
	b.server.put(other)
	require.Equal(t, payout.Unknown, b.send(t).Outcome, "another account")
}

func (b *bench) contradiction(t *testing.T) {
	require.Equal(t, payout.Accepted, b.send(t).Outcome)
	b.server.script("verify", "not_found")
	got := b.send(t)
	require.Equal(t, payout.Unknown, got.Outcome)
	require.True(t, got.Found, "it exists, it was just said")
}

func (b *bench) lateVisibility(t *testing.T) {
	b.server.script("transfer", "lost_reply")
	require.Equal(t, payout.Unknown, b.send(t).Outcome)
	b.server.script("verify", "not_found")
	require.False(t, b.look(t).Found)
	require.True(t, b.look(t).Found)
	b.wantOnce(t)
}

func (b *bench) webhookFirst(t *testing.T) {
	b.server.script("transfer", "hang")
	require.Equal(t, payout.Unknown, b.send(t).Outcome)
	paid := b.transfer(b.Dialect.Paid())
	b.server.put(paid)
	body, header := b.Dialect.Webhook(paid, Key)
	callback, err := b.rail.ParseWebhook(body, header.Get)
	require.NoError(t, err)
	require.Equal(t, b.req.Reference, callback.Reference)
	require.Equal(t, payout.Success, b.look(t).Outcome)
	require.Equal(t, payout.Success, b.send(t).Outcome, "the repeat finds it paid")
	require.Equal(t, 1, b.server.made(b.req.Reference))
}

func (b *bench) reversedLater(t *testing.T) {
	require.Equal(t, payout.Accepted, b.send(t).Outcome)
	b.server.settle(b.req.Reference, b.Dialect.Paid())
	require.Equal(t, payout.Success, b.look(t).Outcome)
	b.server.settle(b.req.Reference, b.Dialect.Reversed())
	got := b.look(t)
	require.Equal(t, payout.Reversed, got.Outcome)
	require.Equal(t, b.req.Amount, got.Amount)
}

func (b *bench) unheardOfWords(t *testing.T) {
	require.Equal(t, payout.Accepted, b.send(t).Outcome)
	paid := b.Dialect.Paid()
	for _, word := range []string{"", " ", "paid", "done", "ok", "SUCCESSFUL", "processing", "queued", "unknown", paid + " ", " " + paid, paid + "ful", "not " + paid} {
		b.server.script("verify", "status:"+word)
		got := b.look(t)
		require.Equal(t, payout.Unknown, got.Outcome, "%q", word)
		require.True(t, got.Found, "%q", word)
	}
}

func (b *bench) refusals(t *testing.T) {
	for name, spoil := range map[string]func(r *payout.Request){
		"nothing":             func(r *payout.Request) { r.Amount = 0 },
		"less than nothing":   func(r *payout.Request) { r.Amount = -1 },
		"another currency":    func(r *payout.Request) { r.Currency = "XTS" },
		"no currency":         func(r *payout.Request) { r.Currency = "" },
		"no reference":        func(r *payout.Request) { r.Reference = "" },
		"a strange reference": func(r *payout.Request) { r.Reference = "../../transfer/verify/x" },
		"no account":          func(r *payout.Request) { r.Account = "" },
		"no bank":             func(r *payout.Request) { r.BankCode = "" },
		"no name":             func(r *payout.Request) { r.AccountName = "" },
	} {
		req := b.req
		spoil(&req)
		got := b.rail.Send(t.Context(), req)
		require.Equal(t, payout.Failed, got.Outcome, name)
		require.True(t, got.Found, name)
	}
	require.Zero(t, b.server.called("transfer"))
}

func (b *bench) race(t *testing.T) {
	const callers = 25
	results := make(chan payout.Result, callers)
	for range callers {
		go func() { results <- b.rail.Send(t.Context(), b.req) }()
	}
	for range callers {
		got := <-results
		require.Equal(t, payout.Accepted, got.Outcome, got.Reason)
	}
	require.Equal(t, 1, b.server.made(b.req.Reference))
}

func (b *bench) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := b.rail.Send(ctx, b.req)
	require.Contains(t, []payout.Outcome{payout.NotNow, payout.Unknown}, got.Outcome)
	require.True(t, got.Found)
	require.Zero(t, b.server.made(b.req.Reference))
	found := b.rail.LookUp(ctx, b.req.Reference)
	require.Equal(t, payout.Unknown, found.Outcome)
	require.True(t, found.Found)
}

// transfer is the request as the provider keeps it.
func (b *bench) transfer(status string) Transfer {
	return Transfer{
		Reference: b.req.Reference, Amount: b.req.Amount, Currency: b.req.Currency, Account: string(b.req.Account),
		BankCode: b.req.BankCode, Status: status,
	}
}

func (b *bench) webhooks(t *testing.T) {
	paid := b.transfer(b.Dialect.Paid())
	for _, key := range []string{Key, PreviousKey} {
		body, header := b.Dialect.Webhook(paid, key)
		callback, err := b.rail.ParseWebhook(body, header.Get)
		require.NoError(t, err)
		require.Equal(t, b.req.Reference, callback.Reference)
		require.Equal(t, b.Dialect.Paid(), callback.Status)
		require.NotEmpty(t, callback.Event)
		b.wantUnsigned(t, body, header, func(body []byte, header func(string) string) error {
			_, err := b.rail.ParseWebhook(body, header)
			return err
		})
	}
	body, header := b.Dialect.Webhook(paid, "sk_test_stranger")
	_, err := b.rail.ParseWebhook(body, header.Get)
	require.True(t, fault.Is(err, "signature_invalid"))
	body, header = b.Dialect.Webhook(paid, "")
	_, err = b.rail.ParseWebhook(body, header.Get)
	require.True(t, fault.Is(err, "signature_invalid"), "an empty key opens nothing")
}

func (b *bench) approvals(t *testing.T) {
	body, header := b.Dialect.Approval(b.transfer("received"), Key)
	reference, amount, err := b.rail.ParseApproval(body, header.Get)
	require.NoError(t, err)
	require.Equal(t, b.req.Reference, reference)
	require.Equal(t, b.req.Amount, amount)
	b.wantUnsigned(t, body, header, func(body []byte, header func(string) string) error {
		_, _, err := b.rail.ParseApproval(body, header)
		return err
	})
	nothing := b.transfer("received")
	nothing.Amount = 0
	body, header = b.Dialect.Approval(nothing, Key)
	_, _, err = b.rail.ParseApproval(body, header.Get)
	require.True(t, fault.Is(err, "body_invalid"), "%v", err)
}

// wantUnsigned: every change of a signed body, and every other header, is refused.
func (b *bench) wantUnsigned(t *testing.T, body []byte, header http.Header, parse func([]byte, func(string) string) error) {
	t.Helper()
	for name, spoilt := range map[string][]byte{
		"a space more": append([]byte{' '}, body...), "a byte less": body[:len(body)-1], "nothing": nil,
		"one bit": append([]byte{body[0] ^ 1}, body[1:]...),
	} {
		require.True(t, fault.Is(parse(spoilt, header.Get), "signature_invalid"), name)
	}
	none := func(string) string { return "" }
	require.True(t, fault.Is(parse(body, none), "signature_invalid"), "no header")
	short := func(name string) string { return header.Get(name)[:min(8, len(header.Get(name)))] }
	require.True(t, fault.Is(parse(body, short), "signature_invalid"), "half a header")
	junk := func(string) string { return "not hexadecimal" }
	require.True(t, fault.Is(parse(body, junk), "signature_invalid"), "junk")
}

func (b *bench) rateLimit(t *testing.T) {
	b.server.script("transfer", "rate_limited")
	got := b.send(t)
	require.Equal(t, payout.NotNow, got.Outcome)
	require.Equal(t, 7*time.Second, got.RetryAfter)
	b.server.script("verify", "rate_limited")
	found := b.look(t)
	require.Equal(t, payout.Unknown, found.Outcome)
	require.True(t, found.Found)
	require.Equal(t, 7*time.Second, found.RetryAfter)
}

func (b *bench) strangeReference(t *testing.T) {
	for _, reference := range []string{"", "short", "../verify", "UPPER-CASE-REFERENCE-0001", "ofr-ünïcode-reference-0001"} {
		got := b.rail.LookUp(t.Context(), reference)
		require.Equal(t, payout.Unknown, got.Outcome, reference)
		require.True(t, got.Found, reference)
	}
	require.Zero(t, b.server.called("verify"))
}
