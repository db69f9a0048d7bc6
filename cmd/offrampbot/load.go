package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// loadPlan is what `load` is asked to do.
type loadPlan struct {
	world, bot   string
	rate         float64       // sales offered a second
	duration     time.Duration // how long sales are offered
	people       int           // how many sell; 0: as many as the limits of a sandbox ask for
	patience     time.Duration // how long every step may take, and every sale to be paid after the last offer
	blockSeconds int           // a block is mined by itself so often; negative: the world is left as it is
	bankSeconds  int           // a transfer is paid by itself after so long; negative: the world is left as it is
	asJSON       bool

	seedOrders int
}

func loadCommand() *cobra.Command {
	var p loadPlan
	cmd := &cobra.Command{
		Use: "load", Short: "Offer sales to a bot in a sandbox at a rate, and check that each was paid once", Args: noArgs,
		Long: "Play whole sales through a running sandbox's world API in front of `serve`: people sign up, deposit, sell and confirm.\n" +
			"Sales are offered by the clock, whatever the bot answers, and their latency counts from the moment they were meant to begin.\n" +
			"Afterwards every accepted sale must be in the bank's own list, paid exactly once with the quoted net, and no webhook may have\n" +
			"failed. It ends with 0 only then. The world must be on 127.0.0.1, and so must the bot in front of which it stands.\n\n" +
			"With --seed-orders it fills the configured store with final orders instead, for measuring at size; `verify` holds afterwards.\n" +
			"The people of seeded orders have no PIN and no deposit address, and their deposits are on no chain: never seed a store that counts.",
		Example: "  offrampbot load --rate 5 --duration 1m --world http://127.0.0.1:9090\n" +
			"  set -a; . ./sandbox.env; set +a; offrampbot load --seed-orders 500000",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("seed-orders") {
				return runSeed(cmd, cmd.OutOrStdout(), p)
			}
			return runLoad(cmd.Context(), cmd.OutOrStdout(), p)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.world, "world", "http://127.0.0.1:9090", "where the sandbox is")
	f.StringVar(&p.bot, "bot", "http://127.0.0.1:8080", "where the bot is; it must be ready")
	f.Float64Var(&p.rate, "rate", 2, "sales offered a second")
	f.DurationVar(&p.duration, "duration", 30*time.Second, "how long sales are offered")
	f.IntVar(&p.people, "people", 0, "how many people sell; 0: as many as the sandbox's limits ask for")
	f.DurationVar(&p.patience, "patience", time.Minute, "how long a step may take, and the last sale to be paid")
	f.IntVar(&p.blockSeconds, "block-seconds", 1, "mine a block by itself so often; negative: leave the world as it is")
	f.IntVar(&p.bankSeconds, "bank-seconds", 1, "pay a transfer by itself after so long; negative: leave the world as it is")
	f.BoolVar(&p.asJSON, "json", false, "print the report as JSON")
	f.IntVar(&p.seedOrders, "seed-orders", 0, "write this many final orders into the configured store, and do nothing else")
	return cmd
}

// What a plan may ask for. A person is not served more often than the bot's limits of a sandbox allow.
const (
	mostRate       = 1000
	mostDuration   = time.Hour
	mostPeople     = 20_000
	salesOfADay    = 20 // of 6 USDT each: 120 of the 150 that a new account may sell
	salesOfAMinute = 10 // two messages each, of thirty
	oneAfterOther  = 5  // seconds that a sale may take before a person's next one is late
)

// check refuses a plan that cannot be carried out, and every target but this machine.
func (p *loadPlan) check() error {
	for name, target := range map[string]string{"--world": p.world, "--bot": p.bot} {
		if err := onlyLoopback(target); err != nil {
			return &misuseError{fmt.Errorf("%s %s: %w", name, target, err)}
		}
	}
	if !(p.rate > 0 && p.rate <= mostRate) || p.duration <= 0 || p.duration > mostDuration || p.patience <= 0 {
		return &misuseError{fmt.Errorf("--rate must be above 0 and at most %d, --duration at most %s, --patience above 0", mostRate, mostDuration)}
	}
	sales := float64(p.sales())
	if p.people == 0 {
		minute := p.rate * min(p.duration.Seconds(), 60) / salesOfAMinute
		p.people = int(max(minute, sales/salesOfADay, min(sales, p.rate*oneAfterOther))) + 1
	}
	if p.people < 1 || p.people > mostPeople {
		return &misuseError{fmt.Errorf("--people must be 1 to %d: ask for a lower --rate or a shorter --duration", mostPeople)}
	}
	if each := sales / float64(p.people); each > salesOfADay {
		return &misuseError{fmt.Errorf("%.0f sales of %d people are more than %d apiece, which a sandbox's limits refuse", sales, p.people, salesOfADay)}
	}
	return nil
}

// sales is how many are offered in all.
func (p *loadPlan) sales() int { return max(1, int(p.rate*p.duration.Seconds())) }

// onlyLoopback refuses whatever is not plain HTTP on 127.0.0.1: this command makes load, and load is aimed at one's own.
func onlyLoopback(target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(u.Host)
	if err != nil || u.Scheme != "http" || host != "127.0.0.1" || u.User != nil {
		return errors.New("only http://127.0.0.1:<port> may be a target")
	}
	return nil
}

// runLoad signs everybody up, offers the sales by the clock, waits for the last payment and judges.
func runLoad(ctx context.Context, out io.Writer, p loadPlan) error {
	if err := p.check(); err != nil {
		return err
	}
	w := newLoadWorld(p)
	ctx, stop := context.WithTimeoutCause(ctx, mostDuration+2*p.duration+10*p.patience, errors.New("load took too long"))
	defer stop()
	before, err := w.begin(ctx)
	if err != nil {
		return err
	}
	listening, deaf := context.WithCancel(ctx)
	heard := make(chan struct{})
	go func() { defer close(heard); w.listen(listening) }()
	defer func() { deaf(); <-heard }()

	crowd, err := w.signEverybodyUp(ctx, p)
	if err != nil {
		return err
	}
	sales := offer(ctx, crowd, p)
	if err := ctx.Err(); err != nil { // whoever stops a run has no result
		return context.Cause(ctx)
	}
	report, err := w.judge(ctx, p, sales, before)
	if err != nil {
		return err
	}
	if p.asJSON {
		err = printJSON(out, report)
	} else {
		err = report.print(out)
	}
	if err == nil && !report.OK {
		err = errDifference
	}
	return err
}

// offer lets each sale begin at its own moment, by the clock. A person who is still busy with the sale before begins
// late, and the wait counts: the sale was meant to begin when it was due.
func offer(ctx context.Context, crowd []*loadPerson, p loadPlan) []*loadSale {
	start := time.Now()
	sales := make([]*loadSale, p.sales())
	queues := make([]chan *loadSale, len(crowd))
	done := make(chan struct{}, len(crowd))
	for i, person := range crowd {
		queues[i] = make(chan *loadSale, len(sales)/len(crowd)+1)
		go func() {
			defer func() { done <- struct{}{} }()
			for s := range queues[i] {
				person.sell(ctx, s)
			}
		}()
	}
	for i := range sales {
		due := start.Add(time.Duration(float64(i) / p.rate * float64(time.Second)))
		if !sleepUntil(ctx, due) {
			sales = sales[:i]
			break
		}
		sales[i] = &loadSale{due: due, account: loadAccount(start, i)}
		queues[i%len(crowd)] <- sales[i]
	}
	for _, q := range queues {
		close(q)
	}
	for range crowd {
		<-done
	}
	return sales
}

// sleepUntil waits for a moment, and reports false when ctx ends first.
func sleepUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
