package offramp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/operation"
)

// traces says by what each effect is seen in a change.
var traces = map[Effect]func(c *Change, before *Order) bool{
	PlaceHold:     func(c *Change, _ *Order) bool { return posted(c, ":hold") && c.Order.Hold == OnHold },
	StartExchange: func(c *Change, _ *Order) bool { return inserted(c, operation.StartExchange) },
	RearmExchange: func(c *Change, _ *Order) bool { return armed(c, operation.StartExchange) },
	PostExchange:  func(c *Change, _ *Order) bool { return posted(c, ":due") && posted(c, ":fee") && c.Order.Exchanged },
	StartPayout:   func(c *Change, before *Order) bool { return inserted(c, operation.Payout) && nextAttempt(c, before) },
	RearmPayout: func(c *Change, before *Order) bool {
		return armed(c, operation.Payout) || inserted(c, operation.Payout) && nextAttempt(c, before)
	},
	PostPayout: func(c *Change, _ *Order) bool {
		return posted(c, ":post") && posted(c, ":float") && c.Order.Hold == Posted && c.Order.Paid > 0
	},
	VoidHold: func(c *Change, before *Order) bool {
		return (posted(c, ":void") || posted(c, ":void-repaid")) && c.Order.Hold == Voided && !c.Order.Exchanged &&
			posted(c, ":due-back") == before.Exchanged
	},
	ReverseSale: func(c *Change, _ *Order) bool {
		return (posted(c, ":return") || posted(c, ":return-repaid")) && posted(c, ":float-back") && posted(c, ":fee-back")
	},
	BookLatePayment: func(c *Change, _ *Order) bool {
		return (posted(c, ":late") || posted(c, ":late-owed")) && posted(c, ":late-float") && posted(c, ":fee")
	},
	BookSecondPayment: func(c *Change, _ *Order) bool { return posted(c, ":second") && c.Account.Shortfall() },
	LookUp:            func(c *Change, _ *Order) bool { return inserted(c, operation.LookUp) && c.Order.LookUp != "" },
	Watch:             func(c *Change, _ *Order) bool { return inserted(c, operation.LookUp) && c.Order.LookUp != "" },
	Supersede: func(c *Change, before *Order) bool {
		return slices.ContainsFunc(c.Replace, func(op *operation.Operation) bool {
			return op.State == operation.Superseded && op.Calls == 0
		}) || before.OperationID() == "" || !slices.ContainsFunc(c.Insert, func(op *operation.Operation) bool {
			return op.Kind == operation.StartExchange || op.Kind == operation.Payout
		})
	},
	Freeze: func(c *Change, _ *Order) bool { return c.Freeze != "" },
	Slip: func(c *Change, _ *Order) bool {
		return slices.ContainsFunc(c.Insert, func(op *operation.Operation) bool {
			return op.Message != nil && op.Message.Image != nil && op.Message.Image.Kind == "slip"
		})
	},
	Notify:         func(c *Change, _ *Order) bool { return c.Told && inserted(c, operation.Notify) },
	NotifyOnChange: func(c *Change, before *Order) bool { return c.Told == (c.Order.Said != before.Said) },
	Alert: func(c *Change, _ *Order) bool {
		return inserted(c, operation.Alert) && c.Audit[0].Action == "alert" && c.Audit[0].Data["kind"] == string(c.Row.On)
	},
}

func posted(c *Change, step string) bool {
	for _, p := range c.Postings {
		if strings.HasSuffix(p.ID, step) {
			return true
		}
	}
	return false
}

func inserted(c *Change, kind operation.Kind) bool {
	return slices.ContainsFunc(c.Insert, func(op *operation.Operation) bool { return op.Kind == kind && op.Due != nil })
}

func armed(c *Change, kind operation.Kind) bool {
	return slices.ContainsFunc(c.Replace, func(op *operation.Operation) bool {
		return op.Kind == kind && op.Due != nil && !op.State.Closed()
	})
}

func nextAttempt(c *Change, before *Order) bool {
	a := c.Order.attempt(c.Order.Attempt)
	return c.Order.Attempt == before.Attempt+1 && c.Order.Phase == PayoutPhase(c.Order.Attempt) && len(c.References) == 1 &&
		a != nil && a.Reference == c.References[0] && a.State == Planned
}

// TestApply_everyRowLeavesTheTracesOfItsEffects draws cases until each row of the table was applied often, and looks for
// what each of its effects must leave.
func TestApply_everyRowLeavesTheTracesOfItsEffects(t *testing.T) {
	t.Parallel()
	stands, _ := reachable()
	r := rand.New(rand.NewPCG(7, 7))
	for i, row := range transitions {
		applied := 0
		for at := range stands {
			if row.From != at.state || row.Phase != OnAny && row.Phase != at.phase {
				continue
			}
			for tries := 0; tries < 4_000 && applied < 60; tries++ {
				o, e, f := drawCase(r, at, row.On)
				e.By = row.By[r.IntN(len(row.By))]
				c, err := Apply(o, e, f, DefaultPolicy())
				if err != nil || fmt.Sprint(c.Row) != fmt.Sprint(row) {
					continue
				}
				applied++
				for _, effect := range row.Effects {
					require.True(t, traces[effect](c, o), "row %d, %s in %s (%s): no trace of %q", i, row.On, o.State, o.Phase, effect)
				}
			}
		}
		require.Greater(t, applied, 20, "row %d, %s in %s (%s), was applied too seldom", i, row.On, row.From, row.Phase)
	}
}
