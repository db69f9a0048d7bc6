package pages

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/story"
)

// moment is one line of an order's story.
type moment struct {
	At    time.Time
	Kind  string // event, deposit, ledger, call, message, answer, staff or audit: a word, and the colour of its mark
	Title string
	Text  string
	Facts []fact
}

// fact is one detail of a moment.
type fact struct{ Name, Value string }

// kinds is the order of moments that have the same time: what came in, what was decided, what was done about it.
var kinds = []string{"answer", "deposit", "event", "staff", "audit", "ledger", "call", "message"}

// timeline puts every record of an order into one line of time.
func (p *Pages) timeline(t *story.Tale) []moment {
	var out []moment
	for _, f := range t.History {
		out = append(out, event(f))
	}
	for _, d := range t.Deposits {
		out = append(out, p.depositMoments(d)...)
	}
	for _, o := range t.Operations {
		out = append(out, p.operationMoments(o)...)
	}
	for _, r := range t.Receipts {
		if r.Source != delivery.Status || r.State != delivery.Done { // a status that was applied stands at its message
			out = append(out, receipt(r))
		}
	}
	for _, e := range t.Audit {
		if m, told := entry(e); told {
			out = append(out, m)
		}
	}
	out = append(out, p.postings(t.Postings)...)
	slices.SortStableFunc(out, func(a, b moment) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind)
	})
	return out
}

// facts leaves out what is empty.
func facts(pairs ...string) []fact {
	var out []fact
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, fact{pairs[i], pairs[i+1]})
		}
	}
	return out
}

// event is a move of the order through its table.
func event(f offramp.Fact) moment {
	title := words(string(f.Event))
	text := ""
	if f.From != f.To {
		from := string(f.From)
		if from == "" {
			from = "nothing"
		}
		text = from + " → " + string(f.To)
	}
	return moment{At: f.At, Kind: "event", Title: title, Text: text, Facts: facts("by", string(f.By), "for", f.Key)}
}

// words takes an event's name apart: "PayoutPaid" is "Payout paid".
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (p *Pages) depositMoments(d *deposit.Deposit) []moment {
	amount := crypto(d.Asset, d.Micro)
	out := []moment{{
		At: d.SeenAt, Kind: "deposit", Title: "Deposit of " + amount + " seen on " + p.chain(d.Chain), Text: d.Reason,
		Facts: facts("transaction", d.Tx, "from", d.From, "to", d.To, "block", fmt.Sprint(d.Block), "state now", string(d.State)),
	}}
	if d.CreditedAt != nil {
		out = append(out, moment{At: *d.CreditedAt, Kind: "deposit", Title: "Deposit of " + amount + " credited", Facts: facts("deposit", d.ID)})
	}
	return out
}

// operationMoments tells of one outside action: when it was recorded, first called and done.
func (p *Pages) operationMoments(o *operation.Operation) []moment {
	if o.Kind == operation.Notify {
		return []moment{p.message(o)}
	}
	title := map[operation.Kind]string{
		operation.StartExchange: "Exchange requested", operation.Payout: "Payout requested", operation.LookUp: "Look-up asked for",
		operation.Notify: "Message", operation.Read: "Message marked as read", operation.Alert: "Alert raised",
	}[o.Kind]
	if o.Attempt > 0 && o.Kind != operation.LookUp {
		title += fmt.Sprintf(", attempt %d", o.Attempt)
	}
	made := moment{
		At: o.CreatedAt, Kind: "call", Title: title, Text: o.Reason,
		Facts: facts("operation", o.ID, "provider", o.Rail, "reference", o.Reference, "state now", string(o.State)),
	}
	out := []moment{made}
	if o.FirstCall != nil && o.Kind == operation.Payout {
		out = append(out, moment{
			At: *o.FirstCall, Kind: "call", Title: "Provider called", Text: times(o.Calls),
			Facts: facts("provider", o.Rail, "reference", o.Reference, "approved by us", yes(o.Approved)),
		})
	}
	if o.DoneAt != nil && o.Outcome != "" {
		out = append(out, moment{
			At: *o.DoneAt, Kind: "answer", Title: "Outcome of " + strings.ReplaceAll(string(o.Kind), "-", " ") + ": " + o.Outcome,
			Facts: facts("operation", o.ID),
		})
	}
	return out
}

func times(n int) string {
	if n == 1 {
		return "One call was made with this reference."
	}
	return fmt.Sprintf("%d calls were made, all with this reference.", n)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// message is what the user was told, in English whatever the user reads.
func (p *Pages) message(o *operation.Operation) moment {
	m := moment{At: o.CreatedAt, Kind: "message", Title: "Message to the user", Facts: facts("status", firstOf(o.Status, string(o.State)), "wamid", o.Wamid)}
	if o.DoneAt != nil {
		m.At = *o.DoneAt
	}
	if o.Message == nil {
		return m
	}
	if o.Message.Text != "" {
		m.Text = o.Message.Text
	} else {
		m.Text = p.deps.Texts.Render("en", o.Message.Key, o.Message.Args)
	}
	if o.Message.Type == "image" {
		m.Title = "Slip to the user"
	}
	return m
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// receipt is something that came in from outside.
func receipt(r *delivery.Receipt) moment {
	title := map[delivery.Source]string{
		delivery.Message: "Message from the user", delivery.Status: "Delivery status of a message", delivery.Account: "Notice from WhatsApp",
		delivery.Payout: "Callback from the provider", delivery.Deposit: "Trusted confirmation event",
	}[r.Source]
	if r.Repeats > 0 {
		title += fmt.Sprintf(" (came %d times)", r.Repeats+1)
	}
	return moment{
		At: r.ReceivedAt, Kind: "answer", Title: title, Text: r.Reason,
		Facts: facts("kind", r.Kind, "provider", r.Provider, "reference", r.Reference, "outcome", r.Outcome, "delivery", r.ID),
	}
}

// entry is what only the trail knows: refusals, approvals, what staff did. The order's moves are in its history already.
func entry(e *audit.Entry) (moment, bool) {
	isMove := slices.Contains(offramp.Events(), offramp.Event(e.Action))
	if isMove && e.After != "" {
		return moment{}, false
	}
	m := moment{At: e.At, Kind: "audit", Title: plain(e.Action), Text: e.Why, Facts: facts("by", e.Actor)}
	if strings.HasPrefix(e.Actor, "staff:") {
		m.Kind = "staff"
	}
	if isMove {
		m.Title = "Refused: " + words(e.Action)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Data)) {
		m.Facts = append(m.Facts, facts(strings.ReplaceAll(name, "_", " "), e.Data[name])...)
	}
	return m, true
}

// plain is an action's name as a sentence would have it.
func plain(action string) string {
	text := strings.NewReplacer("_", " ", ".", " ").Replace(action)
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// postings puts the ledger's entries of one moment together.
func (p *Pages) postings(all []*ledger.Posting) []moment {
	var out []moment
	for _, one := range all {
		line := fact{p.amount(one.Asset, one.Amount), one.Debit + " → " + one.Credit}
		if n := len(out); n > 0 && out[n-1].At.Equal(one.At) {
			out[n-1].Facts = append(out[n-1].Facts, line)
			continue
		}
		out = append(out, moment{At: one.At, Kind: "ledger", Title: "Booked in the ledger", Facts: []fact{line}})
	}
	return out
}
