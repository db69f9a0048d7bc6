package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// loadReport is what a run found out.
type loadReport struct {
	OK       bool                    `json:"ok"`
	Offered  int                     `json:"offered"`
	Accepted int                     `json:"accepted"`
	Paid     int                     `json:"paid"`
	Webhooks int64                   `json:"webhooks"` // answered 200
	Failed   int64                   `json:"webhooks_failed"`
	Seconds  float64                 `json:"seconds"` // from the first sale to the last payment
	Latency  map[string]loadQuantile `json:"latency"`
	Problems []string                `json:"problems"`
}

// loadQuantile is how long something took, in milliseconds.
type loadQuantile struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// The latencies that are told.
const (
	latencyAck   = "webhook acknowledged, from its moment"
	latencyReply = "reply handed to WhatsApp, from its moment"
	latencyFlow  = "form answered"
	latencyPaid  = "PIN given to paid"
)

// judge compares what was promised with what the bank did. It waits for the transfers of accepted sales, because a person
// who was not told may still have been paid.
func (w *loadWorld) judge(ctx context.Context, p loadPlan, sales []*loadSale, before loadState) (loadReport, error) {
	transfers, err := w.settled(ctx, p, sales)
	if err != nil {
		return loadReport{}, err
	}
	var after loadState
	if err := w.call(ctx, http.MethodGet, "/world/state", nil, &after); err != nil {
		return loadReport{}, err
	}
	r := loadReport{
		Offered: len(sales), Webhooks: after.Webhooks - before.Webhooks, Failed: after.WebhooksFailed - before.WebhooksFailed,
		Latency: latencies(sales), Problems: []string{},
	}
	if len(sales) > 0 {
		r.Seconds = time.Since(sales[0].due).Seconds()
	}
	for _, s := range sales {
		r.judgeSale(s, transfers[s.account])
	}
	if r.Failed > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d deliveries of webhooks failed", r.Failed))
	}
	r.OK = len(r.Problems) == 0 && r.Paid == r.Offered
	return r, nil
}

// judgeSale checks one sale: accepted means paid once with the quoted net; not accepted means at most once, and only when
// the PIN was given.
func (r *loadReport) judgeSale(s *loadSale, transfers []loadTransfer) {
	say := func(format string, args ...any) {
		r.Problems = append(r.Problems, "sale to account "+s.account+": "+fmt.Sprintf(format, args...))
	}
	if s.err != nil {
		say("%v", s.err)
	}
	if s.accepted {
		r.Accepted++
	}
	switch {
	case len(transfers) > 1:
		say("the bank has %d transfers for it", len(transfers))
	case len(transfers) == 1 && !s.started:
		say("it was paid without a PIN")
	case len(transfers) == 0 && s.accepted:
		say("%s was accepted and never paid", s.reference)
	}
	for _, t := range transfers {
		switch want, ok := minorOf(s.net); {
		case !ok || t.AmountMinor != want:
			say("the bank moved %d, quoted was %q", t.AmountMinor, s.net)
		case t.Status != "success":
			say("transfer %s is %s", t.Reference, t.Status)
		case len(transfers) == 1:
			r.Paid++
		}
	}
}

// settled waits until every accepted sale has a finished transfer, and returns the transfers by account. What is still
// missing when the patience is over is the judge's to say.
func (w *loadWorld) settled(ctx context.Context, p loadPlan, sales []*loadSale) (map[string][]loadTransfer, error) {
	deadline := time.Now().Add(p.patience)
	for {
		list, err := w.bank(ctx)
		if err != nil {
			return nil, err
		}
		byAccount := map[string][]loadTransfer{}
		for _, t := range list {
			byAccount[t.AccountNumber] = append(byAccount[t.AccountNumber], t)
		}
		open := slices.ContainsFunc(sales, func(s *loadSale) bool {
			own := byAccount[s.account]
			return s.accepted && len(own) == 0 || slices.ContainsFunc(own, func(t loadTransfer) bool { return t.Status == "pending" })
		})
		if !open || time.Now().After(deadline) {
			return byAccount, nil
		}
		if !sleepUntil(ctx, time.Now().Add(250*time.Millisecond)) {
			return nil, context.Cause(ctx)
		}
	}
}

// minorOf reads an amount as the bot shows it ("₦8,930.00") in minor units.
func minorOf(shown string) (minor int64, ok bool) {
	digits, dot := 0, strings.LastIndex(shown, ".")
	for i, r := range shown {
		if r >= '0' && r <= '9' {
			minor, digits = minor*10+int64(r-'0'), digits+1
		} else if dot >= 0 && i > dot {
			return 0, false
		}
	}
	return minor, digits > 2 && dot == len(shown)-3
}

func latencies(sales []*loadSale) map[string]loadQuantile {
	all := map[string][]time.Duration{}
	for _, s := range sales {
		for name, d := range map[string]time.Duration{latencyAck: s.ack, latencyReply: s.reply, latencyPaid: s.paid} {
			if d > 0 {
				all[name] = append(all[name], d)
			}
		}
		all[latencyFlow] = append(all[latencyFlow], s.flows...)
	}
	out := map[string]loadQuantile{}
	for name, list := range all {
		out[name] = quantilesOf(list)
	}
	return out
}

func quantilesOf(list []time.Duration) loadQuantile {
	if len(list) == 0 {
		return loadQuantile{}
	}
	list = slices.Sorted(slices.Values(list))
	at := func(q float64) float64 {
		return float64(list[min(len(list)-1, int(q*float64(len(list))))].Microseconds()) / 1000
	}
	return loadQuantile{Count: len(list), P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1)}
}

// mostProblems is how many are printed for people; JSON has all.
const mostProblems = 20

func (r loadReport) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "offered\t%d\naccepted\t%d\npaid once\t%d\nwebhooks answered 200\t%d\nwebhooks failed\t%d\nsales a second\t%.1f\n\n",
		r.Offered, r.Accepted, r.Paid, r.Webhooks, r.Failed, float64(r.Paid)/max(r.Seconds, 0.001))
	_, _ = fmt.Fprintln(t, "latency in ms\tcount\tp50\tp90\tp99\tmax")
	for _, name := range []string{latencyAck, latencyReply, latencyFlow, latencyPaid} {
		q := r.Latency[name]
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\n", name, q.Count, q.P50, q.P90, q.P99, q.Max)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, problem := range r.Problems[:min(len(r.Problems), mostProblems)] {
		_, _ = fmt.Fprintln(out, "problem:", problem)
	}
	verdict := "correct: every sale was paid exactly once"
	if !r.OK {
		verdict = fmt.Sprintf("NOT correct: %d problems", len(r.Problems))
	}
	_, err := fmt.Fprintln(out, verdict)
	return err
}
