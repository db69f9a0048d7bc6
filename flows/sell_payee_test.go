package flows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/fault"
	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

func TestSell_accountNumbersAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	for typed, ok := range map[string]bool{
		account: true, " 01234 56789 ": true, "0123-456-789": true, "٠١٢٣٤٥٦٧٨٩": true, "\u200e0123456789": true,
		"": false, "012345678": false, "01234567890": false, "0123456789x": false, "0123.456789": false, strings.Repeat("0", 5000): false,
	} {
		p := onBolt(t).person()
		a := p.opens("offramp_flow", nil).submit(toNew("25", typed))
		if ok {
			require.Equal(t, FiatReview, a.Screen, "%q %v", typed, a.Data["error_message"])
			continue
		}
		require.Equal(t, "10 digits are needed", a.text("account_number_error"), "%.40q", typed)
		require.Zero(t, p.banks.asked, "the bank is not asked about what is no number")
	}
}

func TestSell_savedAccount(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		p.deposits("USDT", 200*oneUSDT)
		p.sells("25")
		c := p.opens("offramp_flow", nil)
		a := c.init()
		saved := a.text("beneficiary")
		require.NotEqual(t, newBank, saved, "the account that was used last is chosen")
		require.Equal(t, true, a.Data["has_beneficiaries"])
		data := map[string]any{"asset": "USDT:base", "sell_amount": "26", "beneficiary": saved, "bank_code": "057", "account_number": otherAccount}
		a = c.submit(data)
		require.Equal(t, FiatReview, a.Screen, "%v", a.Data)
		require.Equal(t, "•••• 6789", a.text("account_masked"), "with a saved account the two other fields do not count")
		require.Equal(t, "GTBank", a.text("bank_name"))

		w.banks.change(func(b *banks) { b.nameErr = fault.New("account_check_unavailable", nil) })
		require.Equal(t, "ADA OBI", p.opens("offramp_flow", nil).submit(data).text("recipient_name"), "the name on record stands")

		w.banks.change(func(b *banks) { b.nameErr, b.names[account] = nil, "ADA OBI-EZE" })
		require.Equal(t, "ADA OBI-EZE", p.opens("offramp_flow", nil).submit(data).text("recipient_name"))

		w.banks.change(func(b *banks) { delete(b.names, account) })
		a = p.opens("offramp_flow", nil).submit(data)
		require.Equal(t, Details, a.Screen)
		require.Equal(t, "The bank does not know it", a.text("beneficiary_error"))
	})
}

func TestSell_anotherPersonsAccountIsUnknown(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	first := w.person()
	first.sells("25")
	saved := first.opens("offramp_flow", nil).init().text("beneficiary")
	second := w.person()
	a := second.opens("offramp_flow", nil).submit(map[string]any{"asset": "USDT:base", "sell_amount": "25", "beneficiary": saved})
	require.Equal(t, Details, a.Screen)
	require.Equal(t, "Choose another account", a.text("beneficiary_error"))
	require.NotContains(t, a.Raw, "6789")
}

func TestSell_bankThatDoesNotAnswerInTimeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	w.banks.change(func(b *banks) { b.hang = true })
	start := time.Now() //nolint:forbidigo // the bound is one of real time
	a := p.opens("offramp_flow", nil).submit(toNew("25", account))
	require.Less(t, time.Since(start), 2*bankTime)
	require.Equal(t, Details, a.Screen)
	require.Equal(t, "The bank did not answer", a.text("account_number_error"))
	require.Contains(t, a.text("error_message"), "Nothing was started")
	w.wantsQuiet()
}

func TestSell_namesOfBanksAreSomebodyElsesTexts(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, given, want string }{
		{"control and direction characters", "ADA\u202e \x00O\u200bB\u2066I\n", "ADA OBI"},
		{"formatting", "*ADA* _OBI_ `x` ~y~", "ADA OBI x y"},
		{"many marks", "Z\u0301\u0301\u0301\u0301\u0301E", "Z\u0301\u0301E"},
		{"a novel", strings.Repeat("ADA ", 100), strings.TrimSpace(strings.Repeat("ADA ", 15)[:59]) + "…"},
		{"other scripts", "أدا عُبي", "أدا عُبي"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := onBolt(t)
			w.banks.change(func(b *banks) {
				b.names[account] = tt.given
				b.list = []payout.Bank{{Code: "058", Name: "GT\u202eBank"}}
			})
			p := w.person()
			c := p.atOffer("25")
			require.Equal(t, tt.want, c.submit(nil).text("recipient_name")+c.back().text("recipient_name"))
			require.Equal(t, "GTBank", c.post(ActionBack, CryptoReview, nil).text("bank_name"))
			c.submit(nil)
			require.Contains(t, c.submit(pin(rightPIN)).text("next_step"), tt.want)
			require.Equal(t, tt.want, p.placed()[0].Beneficiary.Name)
		})
	}
	w := onBolt(t)
	w.banks.change(func(b *banks) { b.names[account] = "\u200b \x01" })
	a := w.person().opens("offramp_flow", nil).submit(toNew("25", account))
	require.Equal(t, "The bank did not answer", a.text("account_number_error"), "a payout never goes to nobody")
}

func TestOptionsOf_listsBanksAsPeopleLookForThem(t *testing.T) {
	t.Parallel()
	options := optionsOf([]payout.Bank{
		{Code: "3", Name: "zenith bank"}, {Code: "1", Name: "Access Bank"}, {Code: "2", Name: "  GT\u200bBank\n Plc "}, {Code: "", Name: "Nobody"},
		{Code: "4", Name: "\u202e"}, {Code: "1", Name: "Access Bank again"},
		{Code: "51", Name: "The Very Long Name Microfinance Bank of Lagos"}, {Code: "52", Name: "The Very Long Name Microfinance Bank of Abuja"},
	})
	require.Equal(t, []Option{
		{ID: "1", Title: "Access Bank"}, {ID: "2", Title: "GTBank Plc"}, {ID: "52", Title: "The Very Long Name Microfinan…"},
		{ID: "51", Title: "The Very Long Name Microfi… 51"}, {ID: "3", Title: "zenith bank"},
	}, options)
	require.Empty(t, optionsOf(nil))
}

func TestOptionsOf_keepsTheLargeBanksWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	var all []payout.Bank
	for i := range 250 {
		all = append(all, payout.Bank{Code: fmt.Sprint(1000 + i), Name: fmt.Sprintf("A%03d Microfinance Bank", i)})
	}
	all = append(all, payout.Bank{Code: "057", Name: "Zenith Bank"})
	options := optionsOf(all)
	require.Len(t, options, maxOptions)
	require.Equal(t, "057", options[maxOptions-1].ID)
}

func TestDistinct_titlesFitAndDiffer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var in []Option
		for i := range rapid.IntRange(0, 40).Draw(t, "n") {
			in = append(in, Option{
				ID: fmt.Sprint("id", i), Title: rapid.StringMatching(`(Bank of )?(Lagos State |😀😀😀😀😀😀😀😀😀😀|x){1,4}`).Draw(t, "title"),
			})
		}
		out := distinct(in)
		require.Len(t, out, len(in))
		seen := map[string]bool{}
		for _, o := range out {
			require.LessOrEqual(t, length(o.Title), maxTitle)
			require.False(t, seen[strings.ToLower(o.Title)], o.Title)
			seen[strings.ToLower(o.Title)] = true
		}
	})
}

func TestShort_neverExceedsAndNeverBreaksARune(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, n := rapid.String().Draw(t, "in"), rapid.IntRange(1, 40).Draw(t, "n")
		out := short(in, n)
		require.LessOrEqual(t, length(out), n)
		if length(in) <= n {
			require.Equal(t, in, out)
		}
		require.LessOrEqual(t, length(foreign(in, n)), n)
		require.NotContains(t, foreign(in, n), "\n")
	})
}

func TestBankLists_madeOnceForEachList(t *testing.T) {
	t.Parallel()
	var l bankLists
	first := l.of("NGN", payoutBanks())
	require.Same(t, &first[0], &l.of("NGN", payoutBanks())[0])
	longer := append(payoutBanks(), payout.Bank{Code: "070", Name: "Fidelity Bank"})
	require.Len(t, l.of("NGN", longer), 4)
	require.Len(t, l.of("GHS", payoutBanks()), 3)
}

func TestSell_accountNumbersAreSealedInTheQuoteAndTheList(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	p.sells("25")
	w.view(func(r store.Reader) error {
		all, err := store.All[user.Beneficiary](r, store.Query{Collection: store.Beneficiaries, Index: "_id"})
		require.Len(t, all, 1)
		require.NotContains(t, string(all[0].Sealed), account)
		o := p.placed()[0]
		require.NotContains(t, string(o.Beneficiary.Sealed), account)
		opened, err2 := w.sealer.Open(o.Beneficiary.Sealed, o.Beneficiary.Record())
		require.NoError(t, err2)
		require.Equal(t, account, string(opened))
		return err
	})
}
