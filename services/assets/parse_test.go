package assets

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// changed is the default document as JSON after one replacement, which must be possible.
func changed(t *testing.T, replacements ...string) []byte {
	t.Helper()
	data, err := json.Marshal(Default())
	require.NoError(t, err)
	text := string(data)
	for i := 0; i < len(replacements); i += 2 {
		require.Contains(t, text, replacements[i])
		text = strings.Replace(text, replacements[i], replacements[i+1], 1)
	}
	return []byte(text)
}

func TestParse_readsWhatARegistryWrites(t *testing.T) {
	t.Parallel()
	for _, r := range []*Registry{Default(), Sandbox()} {
		data, err := json.Marshal(r)
		require.NoError(t, err)
		got, err := Parse(data)
		require.NoError(t, err)
		require.Equal(t, r, got)
	}
}

func TestParse_refusesADocumentThatCannotBeRight(t *testing.T) {
	t.Parallel()
	const usdtOnBase = `"contract":"0xfde4c96c8593536e31f229ea8f37b2ada2699bb2"`
	tests := []struct {
		name    string
		replace []string
		want    string
	}{
		{"depth zero", []string{`"depth":12`, `"depth":0`}, `chain "base": depth must be at least 1`},
		{"depth zero in a tier", []string{`"depth":30`, `"depth":0`}, `depth must be at least 1 in every tier`},
		{"a negative depth of a token", []string{`"decimals":6`, `"decimals":6,"depth":-1`}, `token USDT on base: depth`},
		{"a depth beyond the window", []string{`"reorg_window":900`, `"reorg_window":11`}, `reorg_window must reach the depth`},
		{"a tier beyond the window", []string{`"reorg_window":900`, `"reorg_window":100`}, `reorg_window must reach every depth`},
		{"a token's depth beyond the window", []string{`"decimals":6`, `"decimals":6,"depth":901`}, `beyond the chain's reorg_window`},
		{"tiers that fall", []string{`"from_micro":10000000000`, `"from_micro":1`}, `depth_tiers must rise`},
		{"a chain twice", []string{`"id":"bnb"`, `"id":"base"`}, `chain "base": listed twice`},
		{"a chain id twice", []string{`"chain_id":56`, `"chain_id":8453`}, `chain_id must be positive and its own`},
		{"a bad chain id", []string{`"id":"bnb"`, `"id":"BNB-1"`}, `lower-case letters and digits`},
		{"no block time", []string{`"block_ms":450`, `"block_ms":0`}, `block_ms must be positive`},
		{"an unknown finality tag", []string{`"finality_tag":"finalized"`, `"finality_tag":"latest"`}, `unknown finality_tag`},
		{"no name", []string{`"name":"Base"`, `"name":""`}, `chain "base": no name`},
		{"an unknown asset", []string{`"asset":"USDT"`, `"asset":"DAI"`}, `token DAI on base: unknown asset`},
		{"an unknown chain", []string{`"chain":"base"`, `"chain":"optimism"`}, `token USDT on optimism: unknown chain`},
		{"a wrong checksum", []string{usdtOnBase, `"contract":"0xFde4C96c8593536E31F229EA8f37b2ADa2699bb2"`}, `check address checksum`},
		{"no address", []string{usdtOnBase, `"contract":"fde4"`}, `not an address`},
		{"a contract twice", []string{usdtOnBase, `"contract":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"`}, `contract listed twice`},
		{"too many decimals", []string{`"decimals":18`, `"decimals":77`}, `decimals must be 0 to 36`},
		{"a token twice", []string{`"asset":"USDC","chain":"base"`, `"asset":"USDT","chain":"base"`}, `token USDT on base: listed twice`},
		{"no minimum", []string{`"minimum_micro":5000000`, `"minimum_micro":0`}, `asset "USDT": minimum_micro must be positive`},
		{"a lower-case asset", []string{`"id":"USDT"`, `"id":"usdt"`}, `id must be upper-case`},
		{"an unknown zone", []string{`Africa/Lagos`, `Africa/Nowhere`}, `unknown zone "Africa/Nowhere"`},
		{"the host's zone", []string{`Africa/Lagos`, `Local`}, `unknown zone "Local"`},
		{"a bad country", []string{`"country":"NG"`, `"country":"ng"`}, `country must be two capitals`},
		{"a bad code", []string{`"code":"NGN"`, `"code":"naira"`}, `code must be three capitals`},
		{"a bad exponent", []string{`"exponent":2`, `"exponent":9`}, `exponent must be 0 to 4`},
		{"no account digits", []string{`"account_digits":10`, `"account_digits":0`}, `account_digits must be positive`},
		{"a fee of everything", []string{`"basis_points":50`, `"basis_points":10000`}, `basis_points must be 0 to 9999`},
		{"a negative fee", []string{`"flat_minor":5000`, `"flat_minor":-1`}, `fee must not be negative`},
		{"a limit for an unknown fiat", []string{`"NGN":{"sale`, `"GHS":{"sale`}, `tier "tier0": unknown fiat "GHS"`},
		{"limits that fall", []string{`"sale_minor":2000000`, `"sale_minor":2000001`}, `tier "tier0": limits must rise`},
		{"a negative limit", []string{`"sale_minor":2000000`, `"sale_minor":-1`}, `limits must not be negative`},
		{"a tier twice", []string{`"id":"tier1"`, `"id":"tier0"`}, `tier "tier0": id must be present and its own`},
		{"a name of two chains", []string{`"matic"`, `"B.S.C"`}, `name "bsc" is also that of bnb`},
		{"a name of asset and fiat", []string{`"nairas"`, `"tether"`}, `name "tether" is also that of USDT`},
		{"an empty name", []string{`"matic"`, `"--"`}, `polygon: an empty name`},
		{"an unknown field", []string{`"depth":12`, `"depth":12,"deepness":1`}, `unknown field chains[0].deepness`},
		{"a field in another case", []string{`"depth":12`, `"Depth":12`}, `unknown field chains[0].Depth`},
		{"an unknown limit", []string{`"sale_minor":2000000`, `"sale_minor":2000000,"year_minor":1`}, `unknown field tiers[0].limits.NGN.year_minor`},
		{"an unknown part", []string{`{"chains"`, `{"rates":[],"chains"`}, `unknown field rates`},
		{"a number as text", []string{`"depth":12`, `"depth":"12"`}, `cannot unmarshal string`},
		{"a broken number", []string{`"depth":12`, `"depth":12.5`}, `cannot unmarshal number`},
		{"another shape", []string{`"aliases":["matic"`, `"aliases":{"a":1},"x":["matic"`}, `unknown field chains[2].aliases.a`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := Parse(changed(t, tt.replace...))
			require.Nil(t, r)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestParse_reportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse(changed(t, `"depth":12`, `"depth":0,"deepness":1`, `"minimum_micro":5000000`, `"minimum_micro":-5`, `Africa/Lagos`, ``))
	for _, want := range []string{"depth must be at least 1", "chains[0].deepness", "minimum_micro must be positive", `unknown zone ""`} {
		require.ErrorContains(t, err, want)
	}
	_, err = Parse([]byte(`{}`))
	for _, want := range []string{"no chain", "no asset", "no fiat", "no tier"} {
		require.ErrorContains(t, err, want)
	}
}

func TestParse_refusesWhatIsNotOneDocument(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "null", "[]", "[{}]", "{", "{} {}", string(changed(t)) + "{}", `{"chains":{}}`} {
		_, err := Parse([]byte(in))
		require.Error(t, err, in)
	}
}

func FuzzParse(f *testing.F) {
	data, err := json.Marshal(Default())
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"chains":[{"id":"base"}],"tiers":[{"limits":{"NGN":null}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			require.Nil(t, r)
			return
		}
		for _, c := range r.Chains() {
			require.GreaterOrEqual(t, c.Depth, int64(1))
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		_, err = Parse(again)
		require.NoError(t, err)
	})
}
