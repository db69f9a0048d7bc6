package commands

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/money"
)

// utterance is one line of a corpus: what somebody wrote, and what they meant.
type utterance struct {
	Text string  `json:"text"`
	Lang string  `json:"lang"`
	Want meaning `json:"want"`
}

// meaning is the expected reading. Bank is not compared: a command carries none, the form asks for it.
type meaning struct {
	Intent, Amount, Unit, Chain, Bank, Reference string
	Ask                                          bool
}

// blindFloor is the fewest utterances of the blind corpus that have to be read wholly right.
const blindFloor = 103

func TestSale_halfACoinIsNotHalfTheBalance(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"sell half a usdt", "sell half an usdc on base", "sell a half usdt"} {
		c := Parse(text, assets.Default())
		require.Equal(t, Sell, c.Name, text)
		require.Nil(t, c.Amount, text)
		require.Error(t, c.Err, text)
	}
	require.Equal(t, money.Half, Parse("sell half my usdt", assets.Default()).Amount.Kind)
}

func TestParse_readsWhatIsMeantInOtherTongues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"abeg i wan sell 50 usdt":                    "sell | token 50 | USDT",
		"Bonjour, je voudrais vendre 12,5 usdt svp":  "sell | token 12.5 | USDT",
		"nataka kuuza usdt 40 kwenye base tafadhali": "sell | token 40 | USDT | base",
		"naomba kuuza usdc 40 kwenye base tafadhali": "sell | token 40 | USDC | base",
		"vendre 1.500 usdt":                          "sell | token 1500? 1.5? | USDT | (amount_ambiguous)",
		"uza usdt 1,000":                             "sell | token 1000? 1? | USDT | (amount_ambiguous)",
		"je ne veux pas vendre 50 usdt":              "-",
		"sitaki kuuza 50 usdt":                       "-",
		"i no wan sell 50 usdt":                      "-",
		"vendre deux cents usdt":                     "sell | USDT | (asset_unsupported)",
		"mon solde svp":                              "balance",
		"salio langu":                                "balance",
		"arrêtez de m'envoyer des messages":          "stop",
		"bei ya usdt":                                "rate | USDT",
		"pesa yangu iko wapi":                        "status",
		"laisse tomber":                              "cancel",
		"habari":                                     "menu",
		"vendre 50 de 100 usdt":                      "sell | (amount_invalid)",
	} {
		if got := line(Parse(text, assets.Default())); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestParse_readsWhatSomebodyWroteWhoHasNotSeenIt(t *testing.T) {
	t.Parallel()
	reg := assets.Default()
	all := utterances(t, "blind")
	right := 0
	for _, u := range all {
		c := Parse(u.Text, reg)
		if wrongMoney(u.Want, c) {
			t.Errorf("%q is read as the wrong money: %s", u.Text, line(c))
		}
		if understood(u.Want, c, reg) {
			right++
		}
	}
	t.Logf("blind %d/%d", right, len(all))
	require.GreaterOrEqual(t, right, blindFloor)
}

func utterances(t *testing.T, name string) (out []utterance) {
	t.Helper()
	raw, err := os.ReadFile("testdata/utterances/" + name + ".jsonl")
	require.NoError(t, err)
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		var u utterance
		require.NoError(t, json.Unmarshal(lines.Bytes(), &u), lines.Text())
		out = append(out, u)
	}
	require.NotEmpty(t, out)
	return out
}

// readAmount is the amount that a command would act on; none when it asks or has no command.
func readAmount(c Command) (amount, unit string) {
	if c.Amount == nil || c.Name == None || c.Err != nil || len(c.Amount.Candidates) > 0 {
		return "", ""
	}
	if c.Amount.Kind == money.All || c.Amount.Kind == money.Half {
		return string(c.Amount.Kind), c.Asset
	}
	return c.Amount.Text, c.Amount.Unit
}

// wrongMoney reports whether a command would act on an amount or a unit that was not meant. Not to understand is none.
func wrongMoney(want meaning, c Command) bool {
	amount, unit := readAmount(c)
	if amount == "" {
		return false
	}
	return !sameNumber(amount, want.Amount) || want.Unit != "" && unit != "" && unit != want.Unit
}

// understood reports whether a command is wholly what was meant.
func understood(want meaning, c Command, reg *assets.Registry) bool {
	intent := string(c.Name)
	if c.Name == None {
		intent = "none"
	}
	if intent != want.Intent || c.Reference != want.Reference {
		return false
	}
	if want.Ask {
		return c.Err != nil || c.Amount != nil && len(c.Amount.Candidates) > 0
	}
	amount, _ := readAmount(c)
	chain := ""
	if found, err := reg.ChainNamed(want.Chain); want.Chain != "" && err == nil {
		chain = found.ID
	}
	unit := want.Unit == "" || c.Asset == want.Unit || c.Fiat == want.Unit
	return sameNumber(amount, want.Amount) && unit && c.Chain == chain
}

func sameNumber(a, b string) bool {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	if okX && okY {
		return x.Cmp(y) == 0
	}
	return strings.EqualFold(a, b)
}
