package flows

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/money"
	"offrampbot/services/testkit"
)

// walker is a client that does anything: it jumps between screens, repeats itself, tampers with values and lets time
// pass. It remembers what it was shown, because nothing else may ever be sold.
type walker struct {
	*client
	p     *person
	shown map[string]any // the last PIN screen
	last  map[string]any // the last request
}

// values are what a walker may put into a field.
var values = map[string][]any{
	"asset":          {"USDT:base", "USDC:bnb", "DOGE:base", "", 5, map[string]any{"$gt": ""}},
	"sell_amount":    {"25", "₦20,000", "7 usdt", "half", "all", "1,000", "9999999", "", "-1", "1e9", []any{"25"}},
	"beneficiary":    {"new", "", "b_gone", 7},
	"bank_code":      {"058", "057", "999", "", nil},
	"account_number": {account, otherAccount, "1111111111", "12", ""},
	"pin":            {wrongPIN, "000000", "", "12", 482913, map[string]any{"$ne": ""}, wrongPIN},
	"second_payment": {true, false, "true", 1},
	"intent":         {"i_other", ""},
	"amount":         {"1", 1},
}

// request is anything that a client might send.
func (k *walker) request(t *rapid.T, withPIN bool) map[string]any {
	screens := []string{Details, FiatReview, CryptoReview, CryptoReview, k.screen, k.screen, k.screen, Sold, Refused, "NOWHERE", ""}
	actions := []string{ActionInit, ActionBack, ActionExchange, ActionExchange, ActionExchange, ActionExchange, ActionExchange, ActionNavigate}
	data := map[string]any{}
	if rapid.Bool().Draw(t, "filled") {
		data = toNew(rapid.SampledFrom([]string{"25", "31", "₦20,000"}).Draw(t, "amount"), account)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if rapid.IntRange(0, 5).Draw(t, "touch "+name) == 0 {
			data[name] = rapid.SampledFrom(values[name]).Draw(t, name)
		}
	}
	if withPIN && rapid.IntRange(0, 2).Draw(t, "right") == 0 {
		data["pin"] = rightPIN
	}
	return map[string]any{
		"version": "4.0", "flow_token": k.token, "action": rapid.SampledFrom(actions).Draw(t, "action"),
		"screen": rapid.SampledFrom(screens).Draw(t, "screen"), "data": data,
	}
}

// sensible is what a person would do next.
func (k *walker) sensible(t *rapid.T, withPIN bool) map[string]any {
	data := map[string]map[string]any{Details: toNew("25", account), CryptoReview: pin(wrongPIN)}[k.screen]
	if k.screen == CryptoReview && withPIN {
		data = pin(rapid.SampledFrom([]string{rightPIN, wrongPIN}).Draw(t, "typed"))
	}
	action := ActionExchange
	if k.screen == "" {
		action = ActionInit
	}
	return map[string]any{"version": "4.0", "flow_token": k.token, "action": action, "screen": k.screen, "data": data}
}

// step sends a request, or the last one again, and checks the answer and what it did.
func (k *walker) step(t *rapid.T, request map[string]any) {
	k.last = request
	before := len(k.p.placed())
	plain, err := json.Marshal(request)
	require.NoError(t, err)
	r, err := DecodeRequest(plain)
	require.NoError(t, err)
	status, out := k.endpoint.handle(k.t.Context(), r)
	require.Contains(t, []int{200, StatusTokenGone}, status, "%s", out)
	var a shown
	require.NoError(t, json.Unmarshal(out, &a))
	if a.Screen != "" {
		require.Empty(t, complaints(k.flow, "", a), "%v → %s", request, out)
		k.screen = a.Screen
	}
	after := k.p.placed()
	if len(after) > before {
		typed, _ := r.Field("pin")
		require.Equal(t, rightPIN, typed, "an order needs a right PIN in its own request")
		require.Equal(t, []any{CryptoReview, ActionExchange}, []any{r.Screen, r.Action})
		require.Len(t, after, before+1)
		require.Equal(t, Sold, a.Screen)
		require.Equal(t, k.shown["amount_to_receive"], money.FormatMinor(after[0].Net, 2, "₦"), "what was shown is what is sold")
		require.Equal(t, k.shown["sell_amount"], money.FormatMicro(after[0].Amount)+" "+after[0].Asset)
	}
	if a.Screen == CryptoReview {
		k.shown = a.Data
	}
}

func (k *walker) walk(t *rapid.T, withPIN bool) {
	for range rapid.IntRange(1, 18).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			if k.last != nil {
				k.step(t, k.last)
			}
		case 1, 2, 3, 4:
			k.step(t, k.sensible(t, withPIN))
		case 5:
			k.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 11, 400}).Draw(t, "seconds")) * time.Second)
		default:
			k.step(t, k.request(t, withPIN))
		}
	}
}

func TestSell_noOrderWithoutARightPINOfItsSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.Bolt(t, allIndexes()))
	sold := 0
	for name, withPIN := range map[string]bool{"never a right PIN": false, "now and then a right PIN": true} {
		rapid.Check(t, func(t *rapid.T) {
			p := w.person()
			w.freshRates() // the walks take days
			if rapid.Bool().Draw(t, "rich") {
				p.deposits("USDT", 60*oneUSDT)
			}
			k := &walker{client: p.receives("offramp_flow", map[string]string{"amount": "25"}), p: p}
			k.walk(t, withPIN)
			require.LessOrEqual(t, len(p.placed()), 1, "a session places one order")
			sold += len(p.placed())
			if !withPIN {
				require.Empty(t, p.placed(), name)
			}
		})
	}
	require.Positive(t, sold, "some walks end in a sale")
	w.wantsQuiet()
}
