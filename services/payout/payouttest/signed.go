package payouttest

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/payout"
)

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
