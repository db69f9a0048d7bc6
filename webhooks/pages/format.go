package pages

import (
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
)

// functions are what templates may call.
func (p *Pages) functions() template.FuncMap {
	return template.FuncMap{
		"crypto": crypto, "fiat": p.fiat, "rate": p.rate, "chain": p.chain, "utc": utc, "clock": clock, "exact": exact, "iso": iso, "tone": tone, "short": short,
		"can": func(who admin.Identity, permission string) bool {
			return admin.Can(who.Role, admin.Permission(permission))
		},
		"ago": func(at time.Time) string { return span(p.deps.Now().Sub(at)) },
		"key": p.deps.Key, "sentence": sentence, "deref": deref, "amount": p.amount, "why": reason, "about": about, "local": localTime, "words": func(e offramp.Event) string { return words(string(e)) }, "marked": marked,
	}
}

// run is a part of a message in one weight.
type run struct {
	Text string
	Bold bool
}

var bold = regexp.MustCompile(`\*([^*\s](?:[^*\n]*[^*\s])?)\*`)

// marked takes the stars of a message apart as WhatsApp does: what stands between two of them is bold.
func marked(text string) (runs []run) {
	at := 0
	for _, m := range bold.FindAllStringSubmatchIndex(text, -1) {
		runs = append(runs, run{Text: text[at:m[0]]}, run{text[m[2]:m[3]], true})
		at = m[1]
	}
	return append(runs, run{Text: text[at:]})
}

// crypto is an amount with its unit: "25.5 USDT".
func crypto(asset string, amount money.Micro) string { return money.FormatMicro(amount) + " " + asset }

// fiat is an amount with its symbol and decimals: "₦37,262.50". A currency that the registry does not know any more is
// shown in its minor unit, because its decimals are not known.
func (p *Pages) fiat(code string, amount money.Minor) string {
	f, ok := p.deps.Registry.Fiat(code)
	if !ok {
		return fmt.Sprintf("%d minor units of %s", amount, code)
	}
	return money.FormatMinor(amount, f.Exponent, f.Symbol)
}

// rate is a price of one whole token.
func (p *Pages) rate(code, asset string, rate money.Rate) string {
	f, ok := p.deps.Registry.Fiat(code)
	if !ok || !rate.Valid() {
		return rate.String()
	}
	return rate.Price(f.Exponent, f.Symbol) + " for 1 " + asset
}

// amount is a ledger amount of any asset.
func (p *Pages) amount(asset string, amount int64) string {
	if _, ok := p.deps.Registry.Fiat(asset); ok {
		return p.fiat(asset, money.Minor(amount))
	}
	return crypto(asset, money.Micro(amount))
}

// chain is a chain as people call it.
func (p *Pages) chain(id string) string {
	if c, ok := p.deps.Registry.Chain(id); ok {
		return c.Name
	}
	return id
}

func utc(at time.Time) string   { return at.UTC().Format("2 Jan 2006, 15:04:05 UTC") }
func clock(at time.Time) string { return at.UTC().Format("2 Jan, 15:04:05.000 UTC") }
func exact(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
func iso(at time.Time) string   { return at.UTC().Format(time.RFC3339) }

// localTime is a filter's time as a browser's field takes it.
func localTime(value string) string {
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04")
}

func deref(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

// span is a duration as one would say it: "12 s", "5 min", "3 h", "2 days". Number and unit stay on one line.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d\u00a0s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d\u00a0min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d\u00a0h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d\u00a0days", int(d.Hours())/24)
	}
}

// short is the beginning and end of a long id, for places where it stands in whole nearby.
func short(id string) string {
	if len(id) <= 18 {
		return id
	}
	return id[:8] + "…" + id[len(id)-6:]
}

// reasons say in words why an order is where it is, for reasons that are the name of an event.
var reasons = map[string]string{
	string(offramp.LookupExhausted): "look-ups gave no answer for too long",
	string(offramp.OperationParked): "an operation could not be carried out",
	string(offramp.FundsReverted):   "a reorganisation took crypto back",
	string(offramp.PendingTooLong):  "the provider took the payout and has not ended it for too long",
	string(offramp.PayoutReversed):  "the provider took the payout back",
}

// reason is an order's reason in words.
func reason(text string) string {
	if said, ok := reasons[text]; ok {
		return said
	}
	for _, e := range offramp.Events() {
		if string(e) == text {
			return strings.ToLower(words(text))
		}
	}
	return strings.ReplaceAll(text, "_", " ")
}

// about is the page of what a stream of the trail is about, "" for none.
func about(stream string) string {
	kind, id, _ := strings.Cut(stream, ":")
	switch kind {
	case "order":
		return "/admin/orders/" + url.PathEscape(id)
	case "user":
		return "/admin/users/" + url.PathEscape(id)
	case "settings":
		return "/admin/settings"
	default:
		return ""
	}
}

// tones are the colours of order states: wait, work, alarm, good, bad or quiet. Colour is never alone: the state's name
// always stands in it.
var tones = map[offramp.State]string{
	offramp.None: "quiet", offramp.Waiting: "wait", offramp.Deposit: "wait", offramp.Overdue: "quiet", offramp.Exchange: "work",
	offramp.Sending: "work", offramp.Unclear: "alarm", offramp.Review: "alarm", offramp.Success: "good", offramp.Failed: "bad",
	offramp.Returned: "bad", offramp.Cancelled: "quiet",
}

// moreTones are those of approvals, attempts, operations and deposits.
var moreTones = map[string]string{
	"open": "alarm", "approved": "good", "rejected": "bad", "refused": "bad", "expired": "quiet",
	"planned": "wait", "accepted": "work", "paid": "good", "reversed": "bad", "withdrawn": "quiet",
	"pending": "wait", "called": "work", "done": "good", "superseded": "quiet", "parked": "alarm", "unhandled": "alarm",
	"reported": "good", "settled": "good", "missing": "alarm", "reverted": "bad",
	"active": "good", "new": "wait", "closed": "quiet", "frozen": "alarm", "locked": "alarm", "disabled": "quiet", "free": "good",
}

func tone(state any) string {
	name := fmt.Sprint(state)
	if t, ok := tones[offramp.State(name)]; ok {
		return t
	}
	if t, ok := moreTones[name]; ok {
		return t
	}
	return "quiet"
}

// sentence is what a state means, beginning with a capital letter.
func sentence(s offramp.State) string {
	text := offramp.Sentences()[s]
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
