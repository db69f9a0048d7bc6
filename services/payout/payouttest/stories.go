package payouttest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/payout"
)

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
