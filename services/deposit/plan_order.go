package deposit

import (
	"cmp"
	"slices"
)

// compareFacts puts what is lost before what is gained, and sorts each by (height, tx, ordinal), then by life.
func compareFacts(a, b Fact) int {
	return cmp.Or(
		cmp.Compare(rank(a.Kind)/lifeSteps, rank(b.Kind)/lifeSteps),
		cmp.Compare(a.Deposit.Block, b.Deposit.Block),
		cmp.Compare(a.Deposit.Tx, b.Deposit.Tx),
		cmp.Compare(a.Deposit.Ordinal, b.Deposit.Ordinal),
		cmp.Compare(rank(a.Kind), rank(b.Kind)),
	)
}

const lifeSteps = 10

// rank orders the kinds: losses are below lifeSteps, gains from there on.
func rank(k FactKind) int {
	switch k {
	case FactMissing:
		return 0
	case FactDropped:
		return 1
	case FactReverted:
		return 2
	case FactSeen:
		return lifeSteps
	case FactConfirmed:
		return lifeSteps + 1
	case FactSettled:
		return lifeSteps + 2
	case FactParked:
		return lifeSteps + 3
	case FactOutgoing:
		return lifeSteps + 4
	}
	return 2*lifeSteps - 1
}

func sortedKeys[K cmp.Ordered](m map[K]bool) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
