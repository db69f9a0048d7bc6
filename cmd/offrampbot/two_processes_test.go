package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// TestServe_twoProcessesDecideOnce gives two processes on one store the same thing to decide at the same moment: a trusted
// confirmation, a submitted PIN, guesses of a PIN. No lock of one process can help here.
func TestServe_twoProcessesDecideOnce(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, buildBot(t), 2)
	c.call("POST", "/world/chains/base/auto", map[string]any{"seconds": 0})
	c.confirmedOnce("25 events for one deposit", func(n int) string { return fmt.Sprint("event-", n) }, "already-applied")
	c.confirmedOnce("25 deliveries of one event", func(int) string { return "event-of-all" }, "duplicate-delivery")
	c.call("POST", "/world/chains/base/auto", map[string]any{"seconds": 1})
	c.soldOnce()
	c.guessedFiveTimes()
	c.holds()
	require.NotContains(t, c.log.String(), "panicked")
	for _, one := range c.children { // killed, one could leave a transaction behind that keeps its database from being dropped
		require.NoError(t, one.cmd.Process.Signal(syscall.SIGTERM))
		<-one.done
	}
}

// internalOf is the address where a process takes trusted events.
func (c *child) internalOf() string {
	for _, line := range c.env {
		if addr, found := strings.CutPrefix(line, "INTERNAL_ADDR="); found {
			return addr
		}
	}
	return ""
}

// confirmedOnce lets the deposit of a waiting sale be confirmed 25 times at once, by both processes in turn: one is
// applied, with one row in the order's history and one operation, and each of the others is told so.
func (c *crowd) confirmedOnce(name string, event func(n int) string, others string) {
	c.t.Helper()
	p := c.newPerson()
	p.signsUp()
	reference := p.sells("25 usdt on base", "0123456789")
	tx := p.deposits("base", "USDT", "25")
	c.mine("base", 1)
	o := c.becomes(reference, offramp.Deposit)
	var mu sync.Mutex
	got := map[string]int{}
	var g errgroup.Group
	begin := make(chan struct{})
	for n := range 25 {
		body, err := json.Marshal(confirmation{offramp.ConfirmedType, event(n), o.ID, "base:" + tx + ":0", "25000000"})
		require.NoError(c.t, err)
		g.Go(func() error {
			<-begin
			outcome, err := c.confirmsAt(c.children[n%2].internalOf(), body)
			mu.Lock()
			defer mu.Unlock()
			got[outcome]++
			return err
		})
	}
	close(begin)
	require.NoError(c.t, g.Wait(), c.tail())
	require.Equal(c.t, map[string]int{"applied": 1, others: 24}, got, name)
	o = c.becomes(reference, offramp.Success)
	rows := 0
	for _, f := range o.History {
		if f.Event == offramp.DepositConfirmed {
			rows++
		}
	}
	require.Equal(c.t, 1, rows, name)
	started := 0
	require.NoError(c.t, c.db.View(c.t.Context(), func(_ context.Context, r store.Reader) error {
		all, err := store.All[operation.Operation](r, store.Query{Collection: store.Outbox, Index: "order", Equal: []any{o.ID}})
		for _, op := range all {
			if op.Kind == operation.StartExchange {
				started++
			}
		}
		return err
	}))
	require.Equal(c.t, 1, started, name)
}

// confirmsAt hands a confirmation to one process and returns its outcome, or the code of its refusal.
func (w *town) confirmsAt(addr string, body []byte) (string, error) {
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+addr+"/webhooks/deposits", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	for name, value := range w.depositSigned(body) {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct{ Outcome, Error string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("read answer %d: %w", res.StatusCode, err)
	}
	return answer.Outcome + answer.Error, nil
}

// soldOnce submits one PIN twenty times at once, over connections that are spread over both processes.
func (c *crowd) soldOnce() {
	c.t.Helper()
	p := c.newPerson()
	p.signsUp()
	p.deposits("base", "USDT", "30")
	p.hears("30 USDT arrived")
	paid := len(c.bank())
	s := p.review("25 usdt on base", "0123456789")
	sold, refused := 0, 0
	for _, answer := range p.copies(s, map[string]any{"pin": goodPIN}, 20) {
		text, _ := answer.Data["error_message"].(string)
		switch {
		case answer.Screen == "OFFRAMP_SUCCESS":
			sold++
		case strings.HasPrefix(text, "Transaction already "):
			refused++
		}
	}
	require.Equal(c.t, []int{1, 19}, []int{sold, refused})
	p.hears("🎉 Paid")
	require.Len(c.t, c.bank(), paid+1)
}

// guessedFiveTimes submits wrong PINs on several forms at once: every guess is counted before it is compared, and after
// five the right PIN is refused too.
func (c *crowd) guessedFiveTimes() {
	c.t.Helper()
	p := c.newPerson()
	p.signsUp()
	p.deposits("base", "USDT", "100")
	p.hears("100 USDT arrived")
	var forms []screen
	for i := range 8 {
		forms = append(forms, p.review(fmt.Sprintf("%d usdt on base", 6+i), "0123456789"))
	}
	answers := make([]screen, len(forms))
	var g errgroup.Group
	begin := make(chan struct{})
	for i, form := range forms {
		g.Go(func() error {
			<-begin
			one := &robot{world: c.world, phone: p.phone}
			out, err := one.call(c.t.Context(), http.MethodPost, "/world/flows/submit", map[string]any{
				"session": form.Session, "screen": form.Screen, "data": map[string]any{"pin": fmt.Sprintf("91637%d", i)},
			})
			answers[i] = asScreen(out)
			return err
		})
	}
	close(begin)
	require.NoError(c.t, g.Wait(), c.tail())
	guesses := 0 // those that were looked at: whoever lost every race is asked to send the PIN again
	for _, s := range answers {
		require.NotEqual(c.t, "OFFRAMP_SUCCESS", s.Screen)
		text := fmt.Sprint(s.Data["error_message"], s.Data["pin_error"])
		if strings.Contains(text, "Tries left: ") || strings.Contains(text, "your PIN is locked") {
			guesses++
		}
	}
	require.Positive(c.t, guesses, "%v", answers)
	require.Equal(c.t, min(5, guesses), c.wrongPINsOf(p), "no two guesses were counted as one")
	form := p.review("20 usdt on base", "0123456789")
	for i := range 5 {
		p.submits(form, map[string]any{"pin": fmt.Sprintf("91638%d", i)})
	}
	require.Equal(c.t, 5, c.wrongPINsOf(p), "what comes after the lock is not looked at")
	last := p.submits(p.review("21 usdt on base", "0123456789"), map[string]any{"pin": goodPIN})
	require.Contains(c.t, last.Data["error_message"], "your PIN is locked", "%v", last)
	for _, o := range c.orders() {
		require.NotContains(c.t, []int64{6, 7, 8, 9, 10, 11, 12, 13, 20, 21}, int64(o.Amount)/1_000_000)
	}
}

// wrongPINsOf is how many wrong PINs a person has typed today.
func (w *town) wrongPINsOf(p *person) (n int) {
	w.t.Helper()
	require.NoError(w.t, w.db.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		all, err := store.All[user.User](r, store.Query{Collection: store.Users, Index: store.ByID})
		for _, u := range all {
			if u.WhatsAppID == p.phone && u.PIN != nil {
				n = u.PIN.DayFailures
			}
		}
		return err
	}))
	return n
}
