package main

import (
	"bytes"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/delivery"
)

// copiesToBoth delivers one webhook body ten times to each of two processes at the same moment: the person has one reply
// to each message in it, and the store one receipt.
func copiesToBoth(t *testing.T, bin string) {
	t.Helper()
	c := newProcesses(t, bin, 2)
	p := c.newPerson()
	p.signsUp()
	c.eventually("everything before is handled", func() bool { return c.waiting() == 0 })
	const rounds, copies = 3, 10
	for round := range rounds {
		body := c.twoTexts(p.phone, fmt.Sprintf("wamid.copied-%d", round), "balance", "rate")
		var g errgroup.Group
		begin := make(chan struct{})
		for range copies {
			for _, one := range c.children {
				g.Go(func() error {
					<-begin
					return c.delivers(one.addr, body)
				})
			}
		}
		close(begin)
		require.NoError(t, g.Wait(), c.tail())
		p.hears("Your balance")
		p.hears("Rate now")
	}
	c.eventually("every copy is handled", func() bool { return c.waiting() == 0 })
	p.says("history") // replies are in order: when this one is there, so is every other
	p.hears("You have no sale yet")
	require.Equal(t, rounds, p.countsOf("Your balance"))
	require.Equal(t, rounds, p.countsOf("Rate now"))
	c.eventually("the last one is handled", func() bool { return c.waiting() == 0 })
	texts := 0
	seen := map[string]bool{}
	for _, r := range c.receipts(delivery.Done) {
		require.False(t, seen[r.ID])
		seen[r.ID] = true
		if r.Kind == "text" {
			texts++
		}
	}
	for round := range rounds {
		for n := range 2 {
			require.True(t, seen[fmt.Sprintf("wa:wamid.copied-%d-%d", round, n)], "%v", seen)
		}
	}
	require.Equal(t, 2*rounds+2, texts, "hi, two in every round, and history")
	require.Empty(t, c.receipts(delivery.Parked))
	require.NotContains(t, c.log.String(), "panicked")
	c.holds()
	for _, one := range c.children { // killed, one could leave a transaction behind that keeps its database from being dropped
		require.NoError(t, one.cmd.Process.Signal(syscall.SIGTERM))
		<-one.done
	}
}

// twoTexts is the body of a webhook with two messages of a person.
func (w *town) twoTexts(phone, id string, texts ...string) []byte {
	w.t.Helper()
	var messages bytes.Buffer
	for i, what := range texts {
		if i > 0 {
			messages.WriteString(",")
		}
		fmt.Fprintf(&messages, `{"from":%q,"id":"%s-%d","timestamp":"%d","type":"text","text":{"body":%q}}`, phone, id, i, time.Now().Unix(), what)
	}
	return fmt.Appendf(nil, `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{
		"messaging_product":"whatsapp","metadata":{"display_phone_number":"15550001111","phone_number_id":%q},
		"contacts":[{"profile":{"name":"Ada"},"wa_id":%q}],"messages":[%s]}}]}]}`, w.secret("WHATSAPP_PHONE_NUMBER_ID"), phone, messages.String())
}

// delivers hands a signed body to one process. It works in a goroutine of its own, so it returns errors.
func (w *town) delivers(addr string, body []byte) error {
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+addr+"/webhooks/whatsapp", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range w.metaSigned(body) {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("deliver a copy: status %d", res.StatusCode)
	}
	return nil
}
