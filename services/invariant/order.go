package invariant

import (
	"fmt"
	"slices"
	"strings"

	"offrampbot/services/audit"
	"offrampbot/services/ledger"
	"offrampbot/services/limits"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// money checks an order's numbers and the postings of its hold (I2, I10).
func money(o *offramp.Order, postings []*ledger.Posting) []Difference {
	var out []Difference
	say := func(rule, format string, args ...any) {
		out = append(out, Difference{o.ID, rule, fmt.Sprintf(format, args...)})
	}
	steps := map[string]int64{}
	for _, p := range postings {
		step := p.ID[strings.LastIndex(p.ID, ":")+1:]
		steps[step] += p.Amount
	}
	if gross, _, err := o.Rate.Apply(o.Amount); err != nil || gross != o.Gross || o.Net+o.Fee != o.Gross {
		say("I10", "net %d and fee %d are not the gross %d of the quote", o.Net, o.Fee, o.Gross)
	}
	held := o.Hold != offramp.NotHeld
	if (steps["hold"] != 0) != held || held && steps["hold"] != int64(o.Amount) {
		say("I2", "hold is %s, %d was held of %d", o.Hold, steps["hold"], o.Amount)
	}
	posted, voided := steps["post"], steps["void"]+steps["void-repaid"]
	switch o.Hold {
	case offramp.Posted:
		if posted != int64(o.Amount) || voided != 0 {
			say("I2", "hold is posted: %d posted, %d voided of %d", posted, voided, o.Amount)
		}
		if steps["float"] != int64(o.Net) {
			say("I10", "paid %d, quoted %d", steps["float"], o.Net)
		}
	case offramp.Voided:
		if voided != int64(o.Amount) || posted != 0 {
			say("I2", "hold is voided: %d posted, %d voided of %d", posted, voided, o.Amount)
		}
	default:
		if posted != 0 || voided != 0 {
			say("I2", "hold is %s: %d posted, %d voided", o.Hold, posted, voided)
		}
	}
	return append(out, paid(o)...)
}

// paid checks that at most one attempt is paid, or that the other one is booked and alarmed (I1).
func paid(o *offramp.Order) []Difference {
	var out []Difference
	n := 0
	for _, a := range o.Attempts {
		if a.State != offramp.AttemptPaid {
			continue
		}
		n++
		late := slices.Contains(o.Booked, fmt.Sprintf("late:%d", a.N))
		second := slices.Contains(o.Booked, fmt.Sprintf("second:%d", a.N))
		older := o.State == offramp.Review && slices.Contains(o.Booked, fmt.Sprintf("older:%d", a.N))
		if o.Hold != offramp.Posted && !late && !older {
			out = append(out, Difference{o.ID, "I1", fmt.Sprintf("attempt %d is paid and the hold is %s", a.N, o.Hold)})
		}
		if o.Hold == offramp.Posted && a.N != o.Paid && !second && !late {
			out = append(out, Difference{o.ID, "I1", fmt.Sprintf("attempt %d is paid besides attempt %d", a.N, o.Paid)})
		}
	}
	if o.State == offramp.Success && n == 0 {
		out = append(out, Difference{o.ID, "I1", "success without a paid attempt"})
	}
	return out
}

// history replays an order's facts through the table (I8).
func history(o *offramp.Order) []Difference {
	var out []Difference
	state := offramp.None
	phase := offramp.NoPhase
	for i, f := range o.History {
		legal := f.From == state && slices.ContainsFunc(offramp.Next(f.From, phase, f.Event),
			func(t offramp.Transition) bool { return t.To == f.To })
		if !legal {
			out = append(out, Difference{
				o.ID, "I8", fmt.Sprintf("fact %d: %s from %s (%s) to %s has no row", i, f.Event, f.From, phase, f.To),
			})
		}
		state, phase = f.To, f.Phase
	}
	if state != o.State || phase != o.Phase {
		out = append(out, Difference{o.ID, "I8", fmt.Sprintf("history ends in %s (%s), order is %s (%s)", state, phase, o.State, o.Phase)})
	}
	return out
}

// operations checks references and that something moves the order on (I7, I9), and that it counts for the limits (I12).
func operations(r store.Reader, o *offramp.Order) ([]Difference, error) {
	all, err := store.All[operation.Operation](r, store.Query{Collection: store.Outbox, Index: "order", Equal: []any{o.ID}})
	if err != nil {
		return nil, err
	}
	var out []Difference
	open := false
	references := map[string]string{}
	for _, op := range all {
		if op.Kind != operation.Payout && op.Kind != operation.StartExchange && op.Kind != operation.LookUp {
			continue
		}
		watch := op.Kind == operation.LookUp && op.Target != o.OperationID() // of an attempt that the order went on without
		open = open || !watch && (op.Due != nil || op.Lease != nil)
		if op.State == operation.Parked && op.Reason == "" {
			out = append(out, Difference{op.ID, "I7", "parked without a reason"})
		}
		if op.Reference != "" {
			if other, twice := references[op.Reference]; twice {
				out = append(out, Difference{op.ID, "I7", "has the reference of " + other})
			}
			references[op.Reference] = op.ID
		}
		if op.Kind != operation.Payout {
			continue
		}
		if a, ok := o.AttemptOf(op.Reference); !ok || a.N != op.Attempt {
			out = append(out, Difference{op.ID, "I7", "its reference is not that of the order's attempt"})
		}
	}
	if !o.State.Final() && o.State != offramp.Review && o.Due == nil && !open {
		out = append(out, Difference{o.ID, "I9", "is " + string(o.State) + " without a timer, an operation or a person's turn"})
	}
	d, err := limits.Load(r, o.User)
	if err != nil {
		return nil, err
	}
	counted := slices.ContainsFunc(d.Entries, func(e limits.Entry) bool { return e.Order == o.ID })
	if o.State.Counts() && !o.State.Final() && !counted || !o.State.Counts() && counted {
		out = append(out, Difference{o.ID, "I12", fmt.Sprintf("is %s, counted for the limits: %v", o.State, counted)})
	}
	if (d.Open[o.Asset] == o.ID) != o.State.Unfunded() {
		out = append(out, Difference{o.ID, "I12", fmt.Sprintf("is %s, noted as unfunded: %v", o.State, d.Open[o.Asset] == o.ID)})
	}
	return out, nil
}

// trail checks that every transition has its audit entry (I11).
func trail(r store.Reader, o *offramp.Order) ([]Difference, error) {
	entries, err := store.All[audit.Entry](r, store.Query{Collection: store.Audit, Index: "stream", Equal: []any{"order:" + o.ID}})
	if err != nil {
		return nil, err
	}
	i := 0
	for _, e := range entries {
		if i < len(o.History) && e.Action == string(o.History[i].Event) && e.Data["key"] == o.History[i].Key {
			i++
		}
	}
	if i < len(o.History) {
		return []Difference{{o.ID, "I11", fmt.Sprintf("%s has no audit entry", o.History[i].Event)}}, nil
	}
	return nil, nil
}
