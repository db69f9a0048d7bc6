package main

import (
	"slices"

	"offrampbot/services/offramp"
	"offrampbot/services/sandbox"
)

// orderTable is the order table as the phone page draws it: read from the table itself, so that it cannot fall behind.
func orderTable() sandbox.OrderTable {
	var table sandbox.OrderTable
	for _, s := range offramp.States() {
		table.States = append(table.States, sandbox.OrderState{Name: string(s), Meaning: offramp.Sentences()[s], Final: s.Final()})
	}
	for _, row := range offramp.Rows() {
		if row.From == row.To {
			continue
		}
		from, to, event := string(row.From), string(row.To), string(row.Event)
		i := slices.IndexFunc(table.Edges, func(e sandbox.OrderEdge) bool { return e.From == from && e.To == to })
		if i < 0 {
			i = len(table.Edges)
			table.Edges = append(table.Edges, sandbox.OrderEdge{From: from, To: to})
		}
		if !slices.Contains(table.Edges[i].Events, event) {
			table.Edges[i].Events = append(table.Edges[i].Events, event)
		}
	}
	return table
}
