package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/testkit"
)

const (
	free  = "user:ada:USDT:available"
	taken = "user:ada:USDT:held"
	owed  = "receivable:ada:USDT"
)

func account(available, debt money.Micro) *ledger.Account {
	a := &ledger.Account{
		User: "ada", Asset: "USDT", Available: available, Owed: debt,
		Holds: map[string]money.Micro{}, OwedFiat: map[string]money.Minor{},
	}
	a.ID = ledger.AccountID("ada", "USDT")
	return a
}

func steps(a *ledger.Account) *ledger.Steps {
	return &ledger.Steps{Account: a, At: testkit.Noon().Now()}
}

func sale(amount money.Micro, op string) ledger.Sale {
	return ledger.Sale{Order: "o1", Asset: "USDT", Fiat: "NGN", Amount: amount, Net: 900, Fee: 100, Operation: op}
}

// lines writes postings as "id debit → credit amount asset".
func lines(s *ledger.Steps) []string {
	out := []string{}
	for _, p := range s.Postings {
		out = append(out, fmt.Sprintf("%s  %s → %s  %d %s", p.ID, p.Debit, p.Credit, p.Amount, p.Asset))
	}
	return out
}

// held is an account with the hold of order o1 on it, and an empty book.
func held(available, debt, amount money.Micro) *ledger.Steps {
	a := account(available, debt)
	a.Held, a.Holds["o1"] = amount, amount
	return steps(a)
}

// TestSteps_bookExactlyTheEntriesOfTheDesign compares every step with the table of DESIGN §6.
func TestSteps_bookExactlyTheEntriesOfTheDesign(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                  string
		on                    *ledger.Steps
		do                    func(s *ledger.Steps) error
		want                  []string
		available, held, debt money.Micro
		debtFiat              money.Minor
	}{
		{
			"a deposit credits the user", steps(account(5, 0)),
			func(s *ledger.Steps) error { return s.DepositConfirmed("base:0x1:0:1", "base", 10) },
			[]string{"base:0x1:0:1:credit  chain:base:USDT → " + free + "  10 USDT"}, 15, 0, 0, 0,
		},
		{
			"a deposit pays a debt first", steps(account(0, 4)),
			func(s *ledger.Steps) error { return s.DepositConfirmed("d", "base", 10) },
			[]string{"d:credit-repaid  chain:base:USDT → " + owed + "  4 USDT", "d:credit  chain:base:USDT → " + free + "  6 USDT"}, 6, 0, 0, 0,
		},
		{
			"a deposit that is smaller than the debt credits nothing", steps(account(0, 14)),
			func(s *ledger.Steps) error { return s.DepositConfirmed("d", "base", 10) },
			[]string{"d:credit-repaid  chain:base:USDT → " + owed + "  10 USDT"}, 0, 0, 4, 0,
		},
		{
			"a reversal takes what is there", steps(account(15, 0)),
			func(s *ledger.Steps) error { return short(s.DepositReverted("d", "base", 10))(0) },
			[]string{"d:reversal  " + free + " → chain:base:USDT  10 USDT"}, 5, 0, 0, 0,
		},
		{
			"and owes the rest", steps(account(3, 0)),
			func(s *ledger.Steps) error { return short(s.DepositReverted("d", "base", 10))(7) },
			[]string{"d:reversal  " + free + " → chain:base:USDT  3 USDT", "d:reversal-owed  " + owed + " → chain:base:USDT  7 USDT"}, 0, 0, 7, 0,
		},
		{
			"funding moves available to held", steps(account(25, 0)),
			func(s *ledger.Steps) error { return s.Funded(sale(25, "start-exchange:o1")) },
			[]string{"start-exchange:o1:hold  " + free + " → " + taken + "  25 USDT"}, 0, 25, 0, 0,
		},
		{
			"the exchange owes net to the bank and fee to us", held(0, 0, 25),
			func(s *ledger.Steps) error { s.ExchangeDone(sale(25, "x")); return nil },
			[]string{"x:due  desk:NGN → due:NGN  900 NGN", "x:fee  desk:NGN → fees:NGN  100 NGN"}, 0, 25, 0, 0,
		},
		{
			"a payout posts the hold and takes net and charge from the float", held(0, 0, 25),
			func(s *ledger.Steps) error { return s.PayoutPaid(sale(25, "p"), "bank", 7) },
			[]string{
				"p:post  " + taken + " → desk:USDT  25 USDT", "p:float  due:NGN → float:bank:NGN  900 NGN",
				"p:charge  fees:NGN → float:bank:NGN  7 NGN",
			}, 0, 0, 0, 0,
		},
		{
			"a payout without a charge has no entry for it", held(0, 0, 25),
			func(s *ledger.Steps) error { return s.PayoutPaid(sale(25, "p"), "bank", 0) },
			[]string{"p:post  " + taken + " → desk:USDT  25 USDT", "p:float  due:NGN → float:bank:NGN  900 NGN"}, 0, 0, 0, 0,
		},
		{
			"a failure gives the hold back", held(1, 0, 25),
			func(s *ledger.Steps) error { return s.Voided(sale(25, "p"), false) },
			[]string{"p:void  " + taken + " → " + free + "  25 USDT"}, 26, 0, 0, 0,
		},
		{
			"pays a debt with it first, and reverses the exchange, fee included", held(0, 10, 25),
			func(s *ledger.Steps) error { return s.Voided(sale(25, "p"), true) },
			[]string{
				"p:void-repaid  " + taken + " → " + owed + "  10 USDT", "p:void  " + taken + " → " + free + "  15 USDT",
				"p:due-back  due:NGN → desk:NGN  900 NGN", "p:fee-back  fees:NGN → desk:NGN  100 NGN",
			}, 15, 0, 0, 0,
		},
		{
			"a reversed sale reverses every entry", steps(account(0, 5)),
			func(s *ledger.Steps) error { s.SaleReversed(sale(25, "p"), "bank"); return nil },
			[]string{
				"p:return-repaid  desk:USDT → " + owed + "  5 USDT", "p:return  desk:USDT → " + free + "  20 USDT",
				"p:float-back  float:bank:NGN → due:NGN  900 NGN", "p:due-back  due:NGN → desk:NGN  900 NGN",
				"p:fee-back  fees:NGN → desk:NGN  100 NGN",
			}, 20, 0, 0, 0,
		},
		{
			"a late payment takes the crypto back and owes what is gone", steps(account(10, 0)),
			func(s *ledger.Steps) error { s.LatePaid(sale(25, "p"), "bank", 7); return nil },
			[]string{
				"p:late  " + free + " → desk:USDT  10 USDT", "p:late-owed  " + owed + " → desk:USDT  15 USDT",
				"p:due  desk:NGN → due:NGN  900 NGN", "p:fee  desk:NGN → fees:NGN  100 NGN",
				"p:late-float  due:NGN → float:bank:NGN  900 NGN", "p:late-charge  fees:NGN → float:bank:NGN  7 NGN",
			}, 0, 0, 15, 0,
		},
		{
			"a second payment is owed in fiat", steps(account(10, 0)),
			func(s *ledger.Steps) error { s.PaidTwice(sale(25, "p"), "bank", 7); return nil },
			[]string{"p:second  receivable:ada:NGN → float:bank:NGN  900 NGN", "p:second-charge  fees:NGN → float:bank:NGN  7 NGN"}, 10, 0, 0, 900,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, tt.do(tt.on))
			require.Equal(t, tt.want, lines(tt.on))
			a := tt.on.Account
			require.Equal(t, tt.available, a.Available)
			require.Equal(t, tt.held, a.Held)
			require.Equal(t, tt.debt, a.Owed)
			require.Equal(t, tt.debtFiat, a.OwedFiat["NGN"])
			require.NoError(t, a.Check())
			for _, p := range tt.on.Postings {
				require.Equal(t, "ada", p.User)
				require.Equal(t, testkit.Noon().Now(), p.At)
			}
		})
	}
}

// short checks the shortfall that a step returns.
func short(got money.Micro, err error) func(want money.Micro) error {
	return func(want money.Micro) error {
		if err == nil && got != want {
			return fmt.Errorf("shortfall is %d, not %d", got, want)
		}
		return err
	}
}

func TestSteps_refuseWhatTheHoldOrTheBalanceDoesNotAllow(t *testing.T) {
	t.Parallel()
	other := sale(24, "p")
	tests := []struct {
		name string
		on   *ledger.Steps
		do   func(s *ledger.Steps) error
		want error
	}{
		{"more than there is", steps(account(24, 0)), func(s *ledger.Steps) error { return s.Funded(sale(25, "x")) }, ledger.ErrShort},
		{"nothing", steps(account(24, 0)), func(s *ledger.Steps) error { return s.Funded(sale(0, "x")) }, ledger.ErrAmount},
		{"less than nothing", steps(account(24, 0)), func(s *ledger.Steps) error { return s.Funded(sale(-1, "x")) }, ledger.ErrAmount},
		{"a second hold", held(50, 0, 25), func(s *ledger.Steps) error { return s.Funded(sale(25, "x")) }, ledger.ErrHold},
		{"posting no hold", steps(account(50, 0)), func(s *ledger.Steps) error { return s.PayoutPaid(sale(25, "p"), "bank", 0) }, ledger.ErrHold},
		{"posting another amount", held(0, 0, 25), func(s *ledger.Steps) error { return s.PayoutPaid(other, "bank", 0) }, ledger.ErrHold},
		{"voiding no hold", steps(account(50, 0)), func(s *ledger.Steps) error { return s.Voided(sale(25, "p"), true) }, ledger.ErrHold},
		{"voiding another amount", held(0, 0, 25), func(s *ledger.Steps) error { return s.Voided(other, false) }, ledger.ErrHold},
		{"a deposit of nothing", steps(account(0, 0)), func(s *ledger.Steps) error { return s.DepositConfirmed("d", "base", 0) }, ledger.ErrAmount},
		{"a reversal of less", steps(account(9, 0)), func(s *ledger.Steps) error { return short(s.DepositReverted("d", "base", -1))(0) }, ledger.ErrAmount},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := *tt.on.Account
			require.ErrorIs(t, tt.do(tt.on), tt.want)
			require.Empty(t, tt.on.Postings)
			require.Equal(t, before, *tt.on.Account, "a refused step changes nothing")
		})
	}
}

// book folds postings and checks each.
type book map[string]int64

func (b book) add(t *rapid.T, postings []*ledger.Posting, seen map[string]bool) {
	for _, p := range postings {
		if p.Amount <= 0 || p.Debit == p.Credit {
			t.Fatalf("posting %s moves %d from %s to %s", p.ID, p.Amount, p.Debit, p.Credit)
		}
		if seen[p.ID] {
			t.Fatalf("posting %s twice", p.ID)
		}
		seen[p.ID] = true
		b[p.Debit] -= p.Amount
		b[p.Credit] += p.Amount
	}
}

// TestSteps_anyOrderOfStepsKeepsTheBook lets orders and deposits take any legal step in any order: every asset sums to
// zero, the account document says what the postings say, a hold is posted or voided once, and debts are netted.
func TestSteps_anyOrderOfStepsKeepsTheBook(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := account(0, 0)
		b, seen := book{}, map[string]bool{}
		orders := map[string]string{} // state of each order's hold
		amounts := map[string]money.Micro{}
		exchanged := map[string]bool{}
		n := 0
		act := func(fn func(s *ledger.Steps)) {
			s := steps(a)
			fn(s)
			b.add(t, s.Postings, seen)
		}
		pick := func(state string) (string, bool) {
			var fit []string
			for id := 1; id <= len(orders); id++ {
				if o := fmt.Sprint("o", id); orders[o] == state {
					fit = append(fit, o)
				}
			}
			if len(fit) == 0 {
				return "", false
			}
			return rapid.SampledFrom(fit).Draw(t, "order"), true
		}
		of := func(o string) ledger.Sale {
			n++
			return ledger.Sale{Order: o, Asset: "USDT", Fiat: "NGN", Amount: amounts[o], Net: 900, Fee: 100, Operation: fmt.Sprint("op", n)}
		}
		t.Repeat(map[string]func(*rapid.T){
			"deposit": func(t *rapid.T) {
				n++
				amount := money.Micro(rapid.Int64Range(1, 50).Draw(t, "amount"))
				act(func(s *ledger.Steps) { must(t, s.DepositConfirmed(fmt.Sprint("d", n), "base", amount)) })
			},
			"revert": func(t *rapid.T) {
				n++
				amount := money.Micro(rapid.Int64Range(1, 50).Draw(t, "amount"))
				before := a.Available
				act(func(s *ledger.Steps) {
					short, err := s.DepositReverted(fmt.Sprint("d", n), "base", amount)
					must(t, err)
					if short != max(0, amount-before) {
						t.Fatalf("shortfall %d of %d with %d there", short, amount, before)
					}
				})
			},
			"fund": func(t *rapid.T) {
				amount := money.Micro(rapid.Int64Range(1, 50).Draw(t, "amount"))
				if amount > a.Available {
					t.Skip("not covered")
				}
				o := fmt.Sprint("o", len(orders)+1)
				amounts[o], orders[o] = amount, "held"
				act(func(s *ledger.Steps) { must(t, s.Funded(of(o))) })
			},
			"exchange": func(t *rapid.T) {
				if o, ok := pick("held"); ok && !exchanged[o] {
					exchanged[o] = true
					act(func(s *ledger.Steps) { s.ExchangeDone(of(o)) })
				}
			},
			"pay": func(t *rapid.T) {
				if o, ok := pick("held"); ok && exchanged[o] {
					orders[o] = "posted"
					act(func(s *ledger.Steps) {
						must(t, s.PayoutPaid(of(o), "bank", money.Minor(rapid.Int64Range(0, 9).Draw(t, "charge"))))
					})
				}
			},
			"void": func(t *rapid.T) {
				if o, ok := pick("held"); ok {
					orders[o] = "voided"
					act(func(s *ledger.Steps) { must(t, s.Voided(of(o), exchanged[o])) })
				}
			},
			"return": func(t *rapid.T) {
				if o, ok := pick("posted"); ok {
					orders[o] = "voided"
					act(func(s *ledger.Steps) { s.SaleReversed(of(o), "bank") })
				}
			},
			"late": func(t *rapid.T) {
				if o, ok := pick("voided"); ok {
					orders[o] = "late"
					act(func(s *ledger.Steps) { s.LatePaid(of(o), "bank", 3) })
				}
			},
			"second": func(t *rapid.T) {
				if o, ok := pick("posted"); ok {
					act(func(s *ledger.Steps) { s.PaidTwice(of(o), "bank", 3) })
				}
			},
			"again": func(t *rapid.T) {
				for _, state := range []string{"posted", "voided", "late"} {
					if o, ok := pick(state); ok {
						s := steps(a)
						if s.Voided(of(o), true) == nil || s.PayoutPaid(of(o), "bank", 0) == nil {
							t.Fatalf("the hold of %s was resolved again", o)
						}
					}
				}
			},
			"": func(t *rapid.T) {
				must(t, a.Check())
				total := map[bool]int64{}
				for name, sum := range b {
					total[strings.HasSuffix(name, "NGN")] += sum
				}
				if total[true] != 0 || total[false] != 0 {
					t.Fatalf("the book does not balance: %v", b)
				}
				if b[free] != int64(a.Available) || b[taken] != int64(a.Held) || b[owed] != -int64(a.Owed) ||
					b["receivable:ada:NGN"] != -int64(a.OwedFiat["NGN"]) {
					t.Fatalf("the account says %+v, the book %v", a, b)
				}
			},
		})
	})
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func TestSystemPostings(t *testing.T) {
	t.Parallel()
	at := testkit.Noon().Now()
	tests := []struct {
		posting           *ledger.Posting
		id, debit, credit string
	}{
		{ledger.ToSuspense("d:1", "base", "USDT", 5, at), "d:1:suspense", "chain:base:USDT", "suspense:base:USDT"},
		{ledger.FromSuspense("d:1", "base", "USDT", 5, at), "d:1:suspense-back", "suspense:base:USDT", "chain:base:USDT"},
		{ledger.ToTreasury("d:1", "base", "USDT", 5, at), "d:1:treasury", "treasury:USDT", "chain:base:USDT"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.id, tt.posting.ID)
		require.Equal(t, tt.debit, tt.posting.Debit)
		require.Equal(t, tt.credit, tt.posting.Credit)
		require.Equal(t, int64(5), tt.posting.Amount)
		require.Equal(t, "USDT", tt.posting.Asset)
		require.Equal(t, at, tt.posting.At)
	}
	require.Equal(t, "loss:USDT", ledger.Loss("USDT"))
	require.Equal(t, "world:NGN", ledger.World("NGN"))
}
