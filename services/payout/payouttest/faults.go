package payouttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/payout"
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
