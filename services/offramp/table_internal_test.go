package offramp

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/testkit"
	"offrampbot/services/texts"
)

func TestDocument_isCommitted(t *testing.T) {
	t.Parallel()
	testkit.Golden(t, "../../../docs/order-states.md", []byte(Document()))
}

func TestTable_noTwoRowsShareStatePhaseEventAndGuards(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range transitions {
		key := fmt.Sprint(row.From, row.Phase, row.On, row.Guards)
		require.False(t, seen[key], "two rows for %s", key)
		seen[key] = true
	}
}

// stand is a state with the kind of what is out.
type stand struct {
	state State
	phase PhaseKind
}

// phaseAfter is the kind of phase that a row leaves (DESIGN §7: "Phase after a row").
func phaseAfter(row Transition, before PhaseKind) PhaseKind {
	switch {
	case slices.Contains(row.Effects, StartExchange), slices.Contains(row.Effects, RearmExchange):
		return OnExchange
	case slices.Contains(row.Effects, StartPayout), slices.Contains(row.Effects, RearmPayout):
		return OnPayout
	case row.On == ExchangeDone && row.To == Review, row.On == FundsReverted && row.From == Sending && row.To == Review:
		return OnNone
	default:
		return before
	}
}

// reachable walks the table from an order that does not exist yet; used says which rows it went through.
func reachable() (stands map[stand]bool, used map[int]bool) {
	start := stand{None, OnNone}
	stands, used = map[stand]bool{start: true}, map[int]bool{}
	for queue := []stand{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for i, row := range transitions {
			if row.From != at.state || row.Phase != OnAny && row.Phase != at.phase {
				continue
			}
			used[i] = true
			next := stand{row.To, phaseAfter(row, at.phase)}
			if !stands[next] {
				stands[next] = true
				queue = append(queue, next)
			}
		}
	}
	return stands, used
}

func TestTable_everyStateAndEveryRowCanBeReached(t *testing.T) {
	t.Parallel()
	stands, used := reachable()
	states := map[State]bool{}
	for at := range stands {
		states[at.state] = true
	}
	for _, s := range States() {
		require.True(t, states[s], "nothing leads to %s", s)
	}
	for i, row := range transitions {
		require.True(t, used[i], "no order is ever %s (%s), row %s is dead", row.From, row.Phase, row.On)
	}
}

func TestTable_everyStateThatIsNotFinalHasAWayToAFinalOne(t *testing.T) {
	t.Parallel()
	ends := map[State]bool{Success: true, Failed: true, Returned: true, Cancelled: true}
	for grew := true; grew; {
		grew = false
		for _, row := range transitions {
			if ends[row.To] && !ends[row.From] {
				ends[row.From], grew = true, true
			}
		}
	}
	for _, s := range States() {
		require.True(t, ends[s], "%s leads nowhere", s)
		require.Equal(t, s == Success || s == Failed || s == Returned || s == Cancelled, s.Final(), s)
	}
}

func TestTable_aFinalStateHasOnlyTheProvidersCorrections(t *testing.T) {
	t.Parallel()
	var got []string
	for _, row := range transitions {
		if row.From.Final() {
			got = append(got, fmt.Sprintf("%s %s %s", row.From, row.On, row.To))
			require.Contains(t, row.Guards, FreshLookUp)
			require.Contains(t, row.Guards, NotYetBooked)
			require.Equal(t, []Actor{ByLookUp}, row.By)
		}
	}
	require.Equal(t, []string{
		"success PayoutReversed returned", "success PayoutFailed returned", "failed PayoutPaid failed",
		"returned PayoutPaid returned", "success PayoutPaid success",
	}, got)
}

func TestTable_whereMoneyIsHeldNobodyOutsideMustMoveItOn(t *testing.T) {
	t.Parallel()
	stands, _ := reachable()
	ours := []Actor{ByTimer, ByWorker, ByTwoAdmins}
	for at := range stands {
		if !slices.Contains(in(Exchange, Sending, Unclear, Review), at.state) {
			continue
		}
		free := slices.ContainsFunc(transitions, func(row Transition) bool {
			return row.From == at.state && (row.Phase == OnAny || row.Phase == at.phase) && row.To != row.From &&
				slices.ContainsFunc(row.By, func(a Actor) bool { return slices.Contains(ours, a) })
		})
		require.True(t, free, "only an outsider moves %s (%s) on", at.state, at.phase)
	}
}

func TestTable_everyWordOfTheVocabulariesIsUsed(t *testing.T) {
	t.Parallel()
	events, effects, guards, actors := map[Event]bool{}, map[Effect]bool{}, map[Guard]bool{}, map[Actor]bool{}
	for _, row := range transitions {
		events[row.On] = true
		require.NotEmpty(t, row.By, "nobody may cause %s in %s", row.On, row.From)
		require.NotEmpty(t, row.Effects, "%s in %s records nothing", row.On, row.From)
		for _, e := range row.Effects {
			effects[e] = true
		}
		for _, g := range row.Guards {
			guards[g] = true
		}
		for _, a := range row.By {
			actors[a] = true
		}
	}
	require.Len(t, events, len(Events()))
	for _, e := range Events() {
		require.True(t, events[e], "%s is in no row", e)
	}
	require.Len(t, effects, len(traces), "an effect without a trace, or a trace without an effect")
	require.Len(t, guards, 26, "a guard that no row has, or a new one: then this test and mayRefuse change")
	require.Len(t, actors, 8)
	for g := range guards {
		require.NotEmpty(t, g)
	}
}

func TestTable_everyStateHasASentenceAndATextInEveryLanguage(t *testing.T) {
	t.Parallel()
	catalogue, err := texts.Load()
	require.NoError(t, err)
	require.Len(t, Sentences(), len(States()))
	for _, s := range States() {
		require.NotEmpty(t, Sentences()[s], s)
		require.True(t, catalogue.Has("state."+string(s)), "no text for %s", s)
	}
	for key, template := range templates {
		require.NotEmpty(t, template)
		require.True(t, catalogue.Has(key), key)
	}
}

// TestNext_isAPureLookUp compares Next with the table for every state, phase and event.
func TestNext_isAPureLookUp(t *testing.T) {
	t.Parallel()
	for _, s := range append(States(), None) {
		for _, p := range []Phase{NoPhase, ExchangePhase(1), PayoutPhase(1), PayoutPhase(12)} {
			for _, on := range Events() {
				var want []Transition
				for _, row := range transitions {
					if row.From == s && row.On == on && (row.Phase == OnAny || strings.HasPrefix(string(p), string(row.Phase))) {
						want = append(want, row)
					}
				}
				require.Equal(t, want, Next(s, p, on), "%s in %s (%s)", on, s, p)
			}
		}
	}
	rows := Table()
	rows[0].To = Failed
	require.NotEqual(t, rows[0].To, transitions[0].To, "the table itself cannot be changed")
	require.Len(t, Rows(), len(transitions))
}

// mayRefuse lists, for each event, the guards whose failure is an intended refusal. A failure of any other guard must
// leave another row of the same state, phase and event that applies.
var mayRefuse = map[Event][]Guard{
	Placed:          {MayStart},
	QuoteRenewed:    {MayStart},
	WindowElapsed:   {TimeIsDue},
	Lapsed:          {TimeIsDue},
	ExchangeDone:    {CurrentAttempt},
	ExchangeFailed:  {CurrentAttempt},
	OutcomeUnknown:  {CurrentAttempt},
	OperationParked: {CurrentAttempt, NoCallInFlight},
	PayoutAccepted:  {CurrentAttempt},
	PayoutPaid:      {CurrentAttempt, OlderAttempt, AnotherAttempt, FreshLookUp, NotYetBooked, NoOlderPaid},
	PayoutFailed:    {CurrentAttempt, PaidAttempt, FreshLookUp, NotYetBooked, NoOlderPaid},
	PayoutReversed:  {PaidAttempt, FreshLookUp, NotYetBooked},
	PendingTooLong:  {WasAccepted, TimeIsDue},
	LookupExhausted: {TimeIsDue, NoCallInFlight, VisibilityElapsed},
	AdminResumed:    {NoShortfall, UnknownToVenue, NoOlderPaid},
	AdminSettled:    {ProvenPaid, OlderPaid},
	AdminReleased:   {ProvenNotPaid, NoOlderPaid},
}

func TestGuards_ofOneKeyExcludeEachOtherAndLeaveNoGap(t *testing.T) {
	t.Parallel()
	stands, _ := reachable()
	places := slices.SortedFunc(maps.Keys(stands), func(a, b stand) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	refusedBy := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for range 500 {
			at := places[r.IntN(len(places))]
			o, e, f := drawCase(r, at, Events()[r.IntN(len(Events()))])
			if rows := Next(o.State, o.Phase, e.On); len(rows) > 0 {
				e.By = rows[r.IntN(len(rows))].By[0]
				requireOneRow(t, rows, o, e, f, refusedBy)
			}
		}
	})
	for on, guards := range mayRefuse {
		for _, g := range guards {
			require.True(t, refusedBy[string(on)+" "+string(g)], "%s never refuses %s", g, on)
		}
	}
}

// requireOneRow checks that exactly one row applies, or none for an intended reason, which it notes.
func requireOneRow(t *rapid.T, rows []Transition, o *Order, e Occurrence, f Facts, refusedBy map[string]bool) {
	var apply []Transition
	var failed []Guard
	for _, row := range rows {
		if !slices.Contains(row.By, e.By) {
			continue
		}
		if g, ok := firstFailing(row.Guards, o, e, f); ok {
			apply = append(apply, row)
		} else {
			failed = append(failed, g)
		}
	}
	if len(apply) > 1 {
		t.Fatalf("%s in %s (%s): %d rows apply: %v", e.On, o.State, o.Phase, len(apply), apply)
	}
	if len(apply) == 1 {
		return
	}
	intended := false
	for _, row := range rows {
		for _, g := range row.Guards {
			if slices.Contains(mayRefuse[e.On], g) && !holds(g, o, e, f) {
				intended = true
				refusedBy[string(e.On)+" "+string(g)] = true
			}
		}
	}
	if !intended {
		t.Fatalf("%s in %s (%s) falls into a gap: %v fail", e.On, o.State, o.Phase, failed)
	}
}
