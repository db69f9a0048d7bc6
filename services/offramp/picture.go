package offramp

import (
	"fmt"
	"slices"
	"strings"
)

// Sentences says what each state means, for the documentation and the operator's pages.
func Sentences() map[State]string {
	return map[State]string{
		Waiting:   "accepted with PIN; balance and seen deposits do not cover it; address shown; window runs",
		Deposit:   "covered once what is seen on chain is deep enough; its own, longer window runs",
		Overdue:   "window over; late money credits the balance, the order does not start by itself",
		Exchange:  "funded (hold placed), exchange requested",
		Sending:   "payout requested",
		Unclear:   "the venue's or provider's answer is not known: look up; never release, never a new attempt",
		Review:    "a person decides, with a second person",
		Success:   "conclusively paid",
		Failed:    "conclusively not paid; hold voided",
		Returned:  "paid, then reversed; crypto credited back",
		Cancelled: "ended before money moved",
	}
}

// RowOf is a row of the table as `offrampbot states --json` prints it.
type RowOf struct {
	From    State     `json:"from"`
	Phase   PhaseKind `json:"phase"`
	Event   Event     `json:"event"`
	To      State     `json:"to"`
	By      []Actor   `json:"by"`
	Guards  []Guard   `json:"guards"`
	Effects []Effect  `json:"effects"`
}

// Rows returns the table for machines.
func Rows() []RowOf {
	out := make([]RowOf, 0, len(transitions))
	for _, t := range transitions {
		out = append(out, RowOf{t.From, t.Phase, t.On, t.To, t.By, append([]Guard{}, t.Guards...), t.Effects})
	}
	return out
}

// Document is docs/order-states.md: picture, table and the full matrix of states, phases and events.
func Document() string {
	var b strings.Builder
	b.WriteString("# Order states\n\nGenerated from the table in `services/offramp/transitions.go`; `offrampbot states` prints it and `go test\n./services/offramp -update` writes it again.\n\n")
	b.WriteString("## Picture\n\n```mermaid\n" + Picture(nil) + "```\n\n## States\n\n| state | meaning | final |\n|---|---|---|\n")
	for _, s := range States() {
		final := ""
		if s.Final() {
			final = "yes"
			if s == Success {
				final = "yes, but for the provider's own reversal or correction"
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s, Sentences()[s], final)
	}
	b.WriteString("\n## Table\n\n| from | phase | event | guards | to | by | in the same transaction |\n|---|---|---|---|---|---|---|\n")
	for _, t := range transitions {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", named(t.From), t.Phase, t.On, joined(t.Guards, " · "),
			named(t.To), joined(t.By, ", "), joined(t.Effects, " · "))
	}
	matrix(&b)
	return b.String()
}

func named(s State) string {
	if s == None {
		return "–"
	}
	return string(s)
}

func joined[T ~string](list []T, sep string) string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, string(v))
	}
	return strings.Join(out, sep)
}

// Picture is the Mermaid state diagram. The steps that an order took, if any are given, are marked.
func Picture(path []Fact) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	arrows := map[string][]string{}
	var order []string
	for _, t := range transitions {
		from := string(t.From)
		if t.From == None {
			from = "[*]"
		}
		if t.From == t.To {
			continue
		}
		key := from + " --> " + string(t.To)
		if _, seen := arrows[key]; !seen {
			order = append(order, key)
		}
		if !slices.Contains(arrows[key], string(t.On)) {
			arrows[key] = append(arrows[key], string(t.On))
		}
	}
	for _, key := range order {
		fmt.Fprintf(&b, "    %s: %s\n", key, strings.Join(arrows[key], ", "))
	}
	for _, s := range States() {
		if s.Final() && s != Success {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	if len(path) > 0 {
		b.WriteString("    classDef taken fill:#ffd54f\n")
		for _, f := range path {
			fmt.Fprintf(&b, "    class %s taken\n", f.To)
		}
	}
	return b.String()
}

// matrix lists, for each state and phase, where every event leads, so that a reader sees each forbidden pair.
func matrix(b *strings.Builder) {
	b.WriteString("\n## Matrix\n\nEach cell names the states that the event may lead to; `·` is refused (`event_refused`), or `already-applied` for a fact\n" +
		"that is in the order's history.\n\n| event |")
	type column struct {
		s State
		p PhaseKind
	}
	columns := []column{
		{None, OnNone}, {Waiting, OnNone}, {Deposit, OnNone}, {Overdue, OnNone}, {Exchange, OnExchange}, {Sending, OnPayout},
		{Unclear, OnExchange}, {Unclear, OnPayout}, {Review, OnNone}, {Review, OnExchange}, {Review, OnPayout},
		{Success, OnPayout}, {Success, OnNone}, {Failed, OnNone}, {Failed, OnExchange}, {Failed, OnPayout}, {Returned, OnPayout}, {Cancelled, OnNone},
	}
	for _, c := range columns {
		fmt.Fprintf(b, " %s<br>%s |", named(c.s), c.p)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, e := range Events() {
		fmt.Fprintf(b, "| %s |", e)
		for _, c := range columns {
			var to []string
			for _, t := range Next(c.s, Phase(c.p), e) {
				if !slices.Contains(to, string(t.To)) {
					to = append(to, string(t.To))
				}
			}
			cell := strings.Join(to, ", ")
			if cell == "" {
				cell = "·"
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteString("\n")
	}
}
