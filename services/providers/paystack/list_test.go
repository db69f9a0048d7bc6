package paystack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/payout"
	"offrampbot/services/testkit"
)

func row(reference, status string) string {
	return fmt.Sprintf(`{"amount":5000,"currency":"NGN","reference":%q,"status":%q,"transfer_code":"TRF_%s","recipient":{"name":"A"}}`,
		reference, status, strings.ReplaceAll(reference, "-", "_"))
}

func TestTransfers_readsOnePageOrMore(t *testing.T) {
	t.Parallel()
	clock := testkit.Noon()
	c, world := newCanned(t, clock.Now, 0)
	world.set("/transfer", 200, `{"status":true,"message":"Transfers retrieved","data":[`+
		row("ofr-one", "success")+","+row("ofr-two", "pending")+","+row("ofr-three", "reversed")+","+row("ofr-four", "teleported")+`]}`)
	got, err := c.Transfers(t.Context(), clock.Now().Add(-time.Hour), clock.Now())
	require.NoError(t, err)
	var outcomes []payout.Outcome
	for _, r := range got {
		outcomes = append(outcomes, r.Outcome)
	}
	require.Equal(t, []payout.Outcome{payout.Success, payout.Accepted, payout.Reversed, payout.Unknown}, outcomes)
	require.Equal(t, "ofr-one", got[0].Reference)
	require.EqualValues(t, 5000, got[0].Amount)
	require.Equal(t, 1, world.calls("GET /transfer?from=2026-06-03T11%3A00%3A00Z&page=1&perPage=100&to=2026-06-03T12%3A00%3A00Z"))

	// A full page asks for the next; one that brings nothing new is the last.
	var rows []string
	for i := range 100 {
		rows = append(rows, row(fmt.Sprintf("ofr-%03d", i), "success"))
	}
	world.set("/transfer", 200, `{"status":true,"data":[`+strings.Join(rows, ",")+`]}`)
	got, err = c.Transfers(t.Context(), clock.Now().Add(-time.Hour), clock.Now())
	require.NoError(t, err)
	require.Len(t, got, 100)
	require.Equal(t, 3, world.calls("GET /transfer?"))
}

func TestTransfers_failsOnAnythingItCannotRead(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"html":              {200, "<html>"},
		"an error":          {500, `{"status":false,"message":"no"}`},
		"no list":           {200, `{"status":true,"data":{}}`},
		"no data":           {200, `{"status":true}`},
		"a row of text":     {200, `{"status":true,"data":["x"]}`},
		"a row without one": {200, `{"status":true,"data":[{"amount":1}]}`},
		"no answer":         {0, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, world := newCanned(t, testkit.Noon().Now, 0)
			world.set("/transfer", answer.status, answer.body)
			_, err := c.Transfers(t.Context(), testkit.Noon().Now(), testkit.Noon().Now())
			require.Error(t, err)
		})
	}
}
