package commands

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/money"
	"offrampbot/services/texts"
)

var reference9 = ids.Reference([]byte("key"), "intent", 0)

// line is a command in one line, for tables: name, then what it carries.
func line(c Command) string {
	parts := []string{string(c.Name)}
	if c.Name == None {
		parts[0] = "-"
	}
	if c.Amount != nil {
		a := string(c.Amount.Kind)
		if c.Amount.Text != "" {
			a += " " + c.Amount.Text
		}
		for _, r := range c.Amount.Candidates {
			a += " " + r.Text + "?"
		}
		parts = append(parts, a)
	}
	for _, s := range []string{c.Asset, c.Chain, c.Fiat, c.Reference, c.Answer} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if c.Sensitive != Nothing {
		parts = append(parts, "!"+string(c.Sensitive))
	}
	if c.Err != nil {
		parts = append(parts, "("+fault.As(c.Err).Code+")")
	}
	return strings.Join(parts, " | ")
}

func TestParse_understandsWhatPeopleType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		want string
		in   []string
	}{
		{"menu", []string{
			"menu", "Menu", "MENU", "/menu", "menu!", "  menu  ", "hi", "Hello", "hey 👋", "good morning", "hello, how are you", "Good Evening!!", "hi there", "hello bot", "home", "/main",
			"main menu", "back", "options", "sign up", "signup", "register", "how far", "*menu*", "ｍｅｎｕ", "helllo", "hello good morning",
		}},
		{"help", []string{"help", "/help", "Help me", "help me please", "how does it work?", "how does this work", "faq", "what can you do", "i need help", "limits", "can you help me"}},
		{"sell", []string{
			"sell", "Sell", "/sell", "offramp", "/offramp", "OFFRAMP", "*offramp*", "off ramp", "off-ramp", "cash out", "cashout", "cash-out", "/cashout", "convert", "sell crypto",
			"Sell crypto 🚀", "i want to sell", "I'd like to sell some crypto please", "please sell", "can i cash out my crypto", "hi, I want to sell", "withdraw", "offrmap",
			"offramp please", "conver", "cash out to my bank account", "sell to gtbank", "hello there, i want to cash out", "withdarw", "how do i sell?",
		}},
		{"sell | token 50 | USDT", []string{
			"sell 50 usdt", "/sell 50 usdt", "SELL 50 USDT", "sell 50usdt", "sell usdt 50", "sell 50 USDT!", "Sell 50 usdt please 🙏", "i want to sell 50 usdt", "offramp 50 usdt",
			"cash out 50 usdt", "convert 50 tether", "50 usdt", "50 USDT", "hello, 50 usdt", "usdt 50", "sell *50* usdt", "sell ٥٠ usdt", "sell 50\u00a0usdt",
			"withdraw 50 usdt", "hello, sell 50 usdt.", "can you sell 50 usdt for me now", "sell 50 of my usdt", "sell my 50 usdt", "sell 50 usdt to my bank account",
			"sell: 50 usdt", "sell \u200b50\u200b usdt", "sell usdt, 50", "sell (50 usdt)", "sell $50 usdt", "sell 50 dollars of usdt", "exchange 50 usdt", "liquidate 50 usdt",
		}},
		{"sell | token 50 | USDT | NGN", []string{"convert 50 usdt to naira", "sell 50 usdt for ngn", "swap 50 usdt to nigerian naira", "exchange 50 usdt into naira", "50 usdt to ngn"}},
		{"sell | token 0.5 | USDC | base", []string{
			"cash out 0.5 usdc on base", "sell 0.5 usdc base", "sell base usdc 0.5", "sell 0.5 usd coin on base mainnet", "0.5 usdc base", "sell .5 usdc on Base", "sell 0,5 usdc on base",
		}},
		{"sell | token 50 | USDT | bnb", []string{
			"sell 50 usdt bep20", "sell 50 usdt on bsc", "sell 50 USDT BEP-20", "sell 50 usdt on bnb chain", "sell 50 usdt (bep20)", "sell bep20 usdt 50", "sell 50 usdt via binance smart chain",
		}},
		{"sell | token 1250.75 | USDT | polygon", []string{"sell 1,250.75 usdt on polygon", "sell 1.250,75 usdt matic", "sell 1 250.75 usdt on polygon"}},
		{"sell | fiat 20000 | NGN", []string{
			"sell ₦20k", "sell ₦20,000", "sell N20000", "sell 20k naira", "₦20k", "20,000 naira", "sell 20 thousand naira", "cash out ₦20 000", "sell #20000", "i need ₦20k",
			"sell 20000ngn",
		}},
		{"sell | fiat 20000 | USDT | NGN", []string{"sell ₦20k of usdt", "sell ₦20k usdt", "sell 20k naira worth of tether", "usdt ₦20k"}},
		{"sell | fiat 20000 | USDC | base | NGN", []string{"sell ₦20k usdc on base", "sell ₦20,000 worth of usdc base"}},
		{"sell | token 20", []string{"sell $20", "$20", "sell 20 usd", "20 dollars"}},
		{"sell | plain 50", []string{"sell 50", "cash out 50", "/offramp 50", "sell 50!", "sell 50."}},
		{"sell | plain 5000", []string{"sell 5k", "sell 5000", "sell 5 thousand"}},
		{"sell | half", []string{"sell half", "sell half of it"}},
		{"sell | half | USDT", []string{"sell half my usdt", "sell half of my usdt", "sell half usdt"}},
		{"sell | all | USDC", []string{"sell all usdc", "sell all my usdc", "sell everything in usdc", "all my usdc", "cash out all of my usd coin"}},
		{"sell | all", []string{"sell all", "sell everything", "sell max"}},
		{"sell | USDT", []string{"sell usdt", "usdt", "sell my usdt", "sell tether", "sell tether usd", "offramp usdt please"}},
		{"sell | USDC | base", []string{"usdc base", "sell usdc on base", "base usdc", "sell usd coin base"}},
		{"sell | NGN", []string{"sell to naira", "cash out to naira", "sell for naira"}},
		// What is not recognised is refused, the command stands.
		{"sell | (asset_unsupported)", []string{
			"sell 50 btc", "sell 50 usdt on solana", "sell 50 usdt on tron", "sell bitcoin", "sell 50 usdt trc20", "sell 50 sol", "sell 50 usdte", "sell 50 usdt.e", "sell ½",
			"sell usdt on base2", "sell 50 usdtt",
		}},
		{"sell | USDT | (asset_unsupported)", []string{"sell 50 polygn usdt", "sell ½ usdt"}},
		{"sell | base | (asset_unsupported)", []string{"sell 50 usdt on base on bnb", "sell 50 usdt base bsc"}},
		{"sell | base | (amount_invalid)", []string{"sell 50 on base 200"}},
		{"sell | (amount_invalid)", []string{
			"sell -50 usdt", "sell 1e5 usdt", "sell 0x10 usdt", "sell 1/2 usdt", "sell 50% usdt", "sell 0.0000001 usdt", "sell 0 usdt", "sell 00050 usdt", "sell 50 60 usdt",
			"sell 50🚀200 usdt", "sell 50 (200) usdt", "sell 50\n200 usdt", "sell 5² usdt", "sell +50 usdt", "sell 50, 00 usdt", "sell 50-60 usdt",
			"sell 99999999999999 usdt", "sell ₦10.505",
		}},
		{"sell | token 1000? 1? | (amount_ambiguous)", []string{"sell $1,000"}},
		{"sell | token 1500? 1.5? | USDT | (amount_ambiguous)", []string{"sell 1,500 usdt", "1.500 usdt"}},
		{"sell | plain 1000? 1? | (amount_ambiguous)", []string{"sell 1,000", "sell 1.000"}},
		{"balance", []string{"balance", "/balance", "bal", "my balance", "Balance?", "balnce", "check my balance", "show balance please", "how much do i have", "what is my balance", "account", "what's my balance?"}},
		{"balance | USDT", []string{"usdt balance", "balance usdt", "my usdt balance"}},
		{"deposit", []string{"deposit", "/deposit", "wallet", "my wallet", "address", "my address", "deposit address", "top up", "topup", "fund", "where do I send?", "depsoit", "wallet address please", "adress"}},
		{"deposit | USDT | bnb", []string{"deposit usdt bep20", "deposit usdt on bsc", "my usdt bep20 address"}},
		{"deposit | (asset_unsupported)", []string{"deposit on solana", "deposit sol"}},
		{"rate", []string{"rate", "/rate", "rates", "price", "what is the rate", "what's the rate today?", "Rate please", "exchange rate", "todays rate", "today's rate", "how much", "fees", "current rate"}},
		{"rate | token 50 | USDT", []string{"rate 50 usdt", "how much is 50 usdt", "price of 50 usdt", "50 usdt rate", "how much for 50 usdt?", "what is 50 usdt?"}},
		{"rate | USDT", []string{"rate usdt", "usdt rate", "price of usdt", "usdt price"}},
		{"status", []string{"status", "/status", "track", "my order", "where is my money", "Where's my money?!", "status of my order", "status please", "statuss", "receipt"}},
		{"status | " + reference9, []string{
			"status " + reference9, "/status " + strings.ToLower(reference9), "status of " + reference9[:4] + "-" + reference9[4:], "status #" + reference9, reference9, strings.ToLower(reference9),
			"status " + reference9[:4] + " " + reference9[4:8] + " " + reference9[8:], "track order " + reference9, "status " + reference9 + " now", "where is my money " + reference9 + "?",
		}},
		{"status | (order_unknown)", []string{"status 12345", "status AB12CD34X", "status " + reference9[:8]}},
		{"history", []string{"history", "/history", "my orders", "transactions", "transaction history", "histroy", "show my history", "sales", "statement"}},
		{"cancel", []string{"cancel", "/cancel", "Cancel!", "cancel order", "cancel my order", "never mind", "nevermind", "cancle", "please cancel", "stop my order"}},
		{"cancel | " + reference9, []string{"cancel " + reference9, "cancel order " + strings.ToLower(reference9)}},
		{"support", []string{"support", "/support", "agent", "human", "talk to a person", "i want to talk to a person", "suport", "customer care", "complaint", "i forgot my pin", "reset pin", "i need a human"}},
		{"stop", []string{"stop", "STOP", "/stop", "Stop.", "unsubscribe", "opt out", "unsubscibe"}},
		{"start", []string{"start", "START", "/start", "resume", "subscribe", "opt in"}},
		// Answers, and what is nothing.
		{"- | yes", []string{"yes", "YES!", "Yes please", "ok", "yeah"}},
		{"- | no", []string{"no", "No.", "nope", "no thanks"}},
		{"- | plain 50", []string{"50", "50 ", "50!"}},
		{"- | plain 25.5", []string{"25.5", "25,5"}},
		{"- | half", []string{"half", "Half!"}},
		{"- | all", []string{"all", "everything"}},
		{"- | bnb", []string{"bep20", "BNB Chain"}},
		{"- | NGN", []string{"naira"}},
		{"-", []string{
			"", " ", "👍", "!!!", "...", "?", "buy 50 usdt", "i want to buy usdt", "convert ₦20k to usdt", "lorem ipsum", "what is usdt", "don't sell 50 usdt", "do not sell 50 usdt",
			"are you a robot", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "https://example.com/sell", "thanks", "ship 50 boxes", "cell phone", "sellotape", "-50", "1e5", "١/٢",
		}},
		// Secrets.
		{"- | plain 1234 | !pin", []string{"1234", " 1234. "}},
		{"- | plain 50000 | !pin", []string{"50000", "50 000"}},
		{"- | !pin", []string{"012345", "1 2 3 4", "1-2-3-4-5-6", "0000", "my pin is 123456", "PIN: 1234", "pin 1234", "password 123456", "the otp is 482913", "my PIN's 1234", "pin १२३४"}},
		{"sell | !pin | (amount_invalid)", []string{"sell 50 usdt 1234", "sell 50 1234"}},
		{"- | !account", []string{"0123456789", "012 345 6789", "0123-456-789", "gtbank 0123456789", "0123456789 gtbank", "pay 0123456789 access bank", "4111 1111 1111 1111", "٠١٢٣٤٥٦٧٨٩"}},
		{"sell | !account | (amount_invalid)", []string{"sell 50 usdt 0123456789", "sell 50 usdt to gtbank 0123456789"}},
		{"balance | !account", []string{"account number 0123456789", "account 0123456789 opay"}},
		{"- | plain 1234567890 | !account", []string{"1234567890"}},
	}
	reg := assets.Default()
	utterances := 0
	for _, tt := range tests {
		for _, in := range tt.in {
			utterances++
			require.Equal(t, tt.want, line(Parse(in, reg)), "%q", in)
		}
	}
	require.GreaterOrEqual(t, utterances, 120)
}

func TestParse_saysWhatIsWrongAndNeverRepeatsASecret(t *testing.T) {
	t.Parallel()
	reg := assets.Default()
	args := func(text string) map[string]string { return fault.As(Parse(text, reg).Err).Args }
	require.Equal(t, map[string]string{"first": "1500 USDT", "second": "1.5 USDT"}, args("sell 1,500 usdt"))
	require.Equal(t, map[string]string{"first": "1000", "second": "1"}, args("sell 1,000"))
	require.Equal(t, "solana", args("sell 50 usdt on solana")["given"])
	require.Equal(t, "btc", args("sell 50 btc")["given"])
	require.Equal(t, "trc20", args("sell 50 usdt trc20")["given"])
	require.Contains(t, args("sell 50 btc")["supported"], "USDT (Base")
	for _, text := range []string{"sell x0123456789", "sell usdt on 0123456789", "sell 50 usdt 1234", "status 0123456789", "sell a123456 usdt"} {
		cmd := Parse(text, reg)
		require.Error(t, cmd.Err, text)
		for _, v := range fault.As(cmd.Err).Args {
			require.NotRegexp(t, `[0-9]{4}`, strings.ReplaceAll(v, reg.Supported(), ""), text)
		}
	}
}

func TestParse_keepsTheReadingsOfAnAmbiguousAmount(t *testing.T) {
	t.Parallel()
	cmd := Parse("sell 1,500 usdt on base", assets.Default())
	require.True(t, fault.Is(cmd.Err, "amount_ambiguous"))
	require.Len(t, cmd.Amount.Candidates, 2)
	require.Equal(t, int64(1_500_000_000), cmd.Amount.Candidates[0].Value)
	require.Equal(t, int64(1_500_000), cmd.Amount.Candidates[1].Value)
	require.Equal(t, "base", cmd.Chain)
}

func TestParse_givesADollarAmountTheCoinThatIsNamed(t *testing.T) {
	t.Parallel()
	reg := assets.Default()
	require.Equal(t, "USDT", Parse("sell $20 worth of usdt", reg).Amount.Unit)
	require.Equal(t, "", Parse("sell $20", reg).Amount.Unit)
	for _, conflict := range []string{"sell 50 usdt usdc", "sell 50 usdc of usdt", "sell ₦20k to usd"} {
		require.Error(t, Parse(conflict, reg).Err, conflict)
	}
}

func TestParse_refusesACoinOnAChainWhereItIsNotTaken(t *testing.T) {
	t.Parallel()
	data, err := assets.Default().MarshalJSON()
	require.NoError(t, err)
	const usdtOnBase = `{"asset":"USDT","chain":"base","contract":"0xfde4c96c8593536e31f229ea8f37b2ada2699bb2","decimals":6},`
	require.Contains(t, string(data), usdtOnBase)
	reg, err := assets.Parse([]byte(strings.Replace(string(data), usdtOnBase, "", 1)))
	require.NoError(t, err)
	require.Equal(t, "sell | token 50 | USDT | base | (asset_unsupported)", line(Parse("sell 50 usdt on base", reg)))
	require.Equal(t, "sell | USDT | base | (asset_unsupported)", line(Parse("sell usdt base", reg)))
	require.Equal(t, "sell | token 50 | USDC | base", line(Parse("sell 50 usdc on base", reg)))
}

func TestParse_readsNoLettersToSomebody(t *testing.T) {
	t.Parallel()
	reg := assets.Default()
	require.Equal(t, Command{}, Parse("sell 50 usdt "+strings.Repeat("and so on ", 60), reg))
	require.Equal(t, Command{Sensitive: Account}, Parse("sell "+strings.Repeat("word ", 100)+" 0123456789", reg), "a secret is found in a text of any length")
}

func TestSensitive_leavesOrdinaryNumbersAlone(t *testing.T) {
	t.Parallel()
	reg := assets.Default()
	for _, text := range []string{
		"sell 50000 usdt", "sell 1234 usdt", "₦50000", "₦1,000,000,000", "50,000", "25.50", "sell 0.123456 usdt", "08031234567", "123", "1234567", "in 2026",
		"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x1234567890", "1234567890.50", "0.1234567890", "status 12345", "call 911", "spin 1", "opinion",
	} {
		require.Equal(t, Nothing, Parse(text, reg).Sensitive, "%q", text)
	}
}

func TestSensitive_followsTheRegistrysAccountNumbers(t *testing.T) {
	t.Parallel()
	data, err := assets.Default().MarshalJSON()
	require.NoError(t, err)
	reg, err := assets.Parse([]byte(strings.Replace(string(data), `"account_digits":10`, `"account_digits":13`, 1)))
	require.NoError(t, err)
	require.Equal(t, Account, Parse("gcb 1234567890123", reg).Sensitive)
	require.Equal(t, Nothing, Parse("gcb 1234567890", reg).Sensitive)
}

func TestCatalogue_everyAliasMeansItsCommandAlone(t *testing.T) {
	t.Parallel()
	reg := assets.Default()
	owner := map[string]Name{}
	for _, e := range Catalogue() {
		for _, a := range slices.Concat(e.Aliases, elsewhere()[e.Name]) {
			require.Equal(t, None, owner[a], "alias %q of %s", a, e.Name)
			owner[a] = e.Name
			require.Equal(t, a, clean(a), "aliases are written as the parser sees texts")
			require.LessOrEqual(t, len(strings.Fields(a)), longestPhrase, a)
			for _, text := range []string{a, "/" + a, strings.ToUpper(a), a + "!", "please " + a, "*" + a + "* 🙏"} {
				require.Equal(t, e.Name, Parse(text, reg).Name, "%q", text)
			}
		}
	}
}

func TestCatalogue_hasAHelpTextForEveryCommand(t *testing.T) {
	t.Parallel()
	c, err := texts.Load()
	require.NoError(t, err)
	reg := assets.Default()
	seen := map[Name]bool{}
	for _, e := range Catalogue() {
		require.True(t, c.Has(e.Help), e.Name)
		require.LessOrEqual(t, utf8.RuneCountInString(c.Render("en", e.Help, nil)), 72, "%s: one line, and a row of a list", e.Name)
		require.Equal(t, e.Name, Parse(e.Example, reg).Name)
		require.NoError(t, Parse(e.Example, reg).Err)
		require.False(t, seen[e.Name])
		seen[e.Name] = true
	}
	for _, n := range []Name{Menu, Help, Sell, Balance, Deposit, Rate, Status, History, Cancel, Support, Stop, Start} {
		require.True(t, seen[n], "%s is not in the catalogue", n)
	}
}

func TestTypos_areForgivenInLongWordsOnly(t *testing.T) {
	t.Parallel()
	reg := assets.Default()
	tests := []struct {
		in   string
		want Name
	}{
		{"balanec", Balance}, {"balanse", Balance}, {"ballance", Balance}, {"balanxx", None}, {"histori", History}, {"transactoins", History}, {"unsubscrbie", Stop},
		{"stpo", None}, {"menuu", None}, {"sale", None}, {"selll", None}, {"supprot", Support}, {"canel", Cancel}, {"statsu", Status}, {"deposi7", None},
		{"wallte", Deposit}, {"wallat", Deposit}, {"customer suport", Support}, {"transaction histori", History},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, Parse(tt.in, reg).Name, "%q", tt.in)
	}
}

func TestDistance_countsSlips(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{{"abcde", "abcde", 0}, {"abcde", "abcd", 1}, {"abcde", "abxde", 1}, {"abcde", "abdce", 1}, {"abcde", "xbcdy", 2}, {"", "ab", 2}, {"abc", "abcdef", 3}}
	for _, tt := range tests {
		require.Equal(t, tt.want, distance(tt.a, tt.b, 2), "%s %s", tt.a, tt.b)
		require.Equal(t, tt.want, distance(tt.b, tt.a, 2))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"sell 50 usdt on base", "₦20k", "hello, i want to cash out half my usdc", "status " + reference9, "1234", "0123456789 gtbank", "sell 1,500 usdt", "50🚀200",
		"convert ₦20k to usdt", "usdt bep20", "sell 50, 000", "👨‍👩‍👧‍👦", "\ufffd", "sell \u202e50", "how much is ٥٠ usdt", "/offramp", "sell ½", "......", "1|2",
	} {
		f.Add(s)
	}
	reg := assets.Default()
	f.Fuzz(func(t *testing.T, s string) {
		cmd := Parse(s, reg)
		require.Equal(t, line(cmd), line(Parse(s, reg)), "pure")
		if cmd.Asset != "" {
			_, ok := reg.Asset(cmd.Asset)
			require.True(t, ok)
		}
		if cmd.Chain != "" {
			_, ok := reg.Chain(cmd.Chain)
			require.True(t, ok)
		}
		if cmd.Fiat != "" {
			_, ok := reg.Fiat(cmd.Fiat)
			require.True(t, ok)
		}
		if cmd.Reference != "" {
			canonical, ok := ids.ParseReference(cmd.Reference)
			require.True(t, ok)
			require.Equal(t, canonical, cmd.Reference)
		}
		if a := cmd.Amount; a != nil {
			switch {
			case fault.Is(cmd.Err, "amount_ambiguous"):
				require.Len(t, a.Candidates, 2)
			case a.Kind == money.Half || a.Kind == money.All:
				require.Zero(t, a.Value)
			default:
				require.Positive(t, a.Value)
				require.True(t, strings.ContainsFunc(s, unicode.IsDigit), "an amount comes out of digits only")
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	reg := assets.Default()
	for b.Loop() {
		Parse("hello, i want to sell 50 usdt on base please", reg)
	}
}
