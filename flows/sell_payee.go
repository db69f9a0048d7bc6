package flows

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// The lengths of an account number where a currency does not fix one.
const minDigits, maxDigits = 6, 34

// payee is the bank account to be paid: a saved one, or one whose holder the bank has just named. The number is sealed
// before it goes anywhere.
func (v *visit) payee(ctx context.Context, r Request) (quote.Beneficiary, payout.AccountNumber, *problem, error) {
	if id := v.s.Values["beneficiary"]; id != "" && id != newBank {
		return v.savedPayee(ctx, id)
	}
	bank, p, err := v.bank(ctx, r)
	if p != nil || err != nil {
		return quote.Beneficiary{}, "", p, err
	}
	account, ok := v.accountNumber(r)
	if !ok {
		return quote.Beneficiary{}, "", v.say(fault.New("account_number_invalid", nil).With("digits", v.digits()), "account_number"), nil
	}
	name, err := v.holder(ctx, bank.Code, account)
	if err != nil {
		return quote.Beneficiary{}, "", v.say(err, "account_number"), nil
	}
	b := quote.Beneficiary{
		ID: v.d.Beneficiaries.ID(v.s.User, bank.Code, account), BankCode: bank.Code, BankName: foreign(bank.Name, maxName),
		Last4: account.Last4(), Name: name, Digest: v.d.Beneficiaries.Digest(bank.Code, account),
	}
	b.Since, err = v.since(ctx, b.ID)
	return b, account, nil, err
}

// accountNumber reads the number in the digits of any script; spaces, hyphens and what cannot be seen do not count (P56).
func (v *visit) accountNumber(r Request) (account payout.AccountNumber, ok bool) {
	typed, _ := r.Field("account_number")
	if len(typed) > 8*maxDigits { // length before work
		return "", false
	}
	digits := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return rune(money.DigitOf(r))
		case unicode.IsSpace(r), unicode.Is(unicode.Cf, r), r == '-':
			return -1
		}
		return unicode.ReplacementChar
	}, typed)
	if strings.ContainsRune(digits, unicode.ReplacementChar) {
		return "", false
	}
	if n := v.fiat.AccountDigits; n > 0 {
		return payout.AccountNumber(digits), len(digits) == n
	}
	return payout.AccountNumber(digits), len(digits) >= minDigits && len(digits) <= maxDigits
}

// digits is how many digits an account number has, in words.
func (v *visit) digits() string {
	if n := v.fiat.AccountDigits; n > 0 {
		return strconv.Itoa(n)
	}
	return strconv.Itoa(minDigits) + "–" + strconv.Itoa(maxDigits)
}

// since is when an account was saved, zero when it is new.
func (v *visit) since(ctx context.Context, id string) (at time.Time, err error) {
	err = v.d.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
		at = time.Time{}
		b, err := v.d.Beneficiaries.Get(r, v.s.User, id)
		if err == nil {
			at = b.CreatedAt
		}
		if fault.Is(err, "beneficiary_unknown") {
			return nil
		}
		return err
	})
	return at, err
}

// bank is the bank that was chosen, looked up again.
func (v *visit) bank(ctx context.Context, r Request) (payout.Bank, *problem, error) {
	code, _ := r.Field("bank_code")
	banks, err := v.list(ctx)
	if err != nil || len(banks) == 0 {
		return payout.Bank{}, v.noBanks(), nil
	}
	i := slices.IndexFunc(banks, func(b payout.Bank) bool { return b.Code == code && code != "" })
	if i < 0 {
		return payout.Bank{}, v.say(fault.New("bank_unknown", nil), "bank"), nil
	}
	return banks[i], nil, nil
}

// noBanks is the problem of a list of banks that is not there.
func (v *visit) noBanks() *problem {
	return v.problem("flow.banks_unavailable", "account_check_unavailable", "bank", nil)
}

// savedPayee is a saved account; its holder is asked for again, so that a closed account is noticed (D28). When the bank
// does not answer, the name that it gave before stands.
func (v *visit) savedPayee(ctx context.Context, id string) (quote.Beneficiary, payout.AccountNumber, *problem, error) {
	var b *user.Beneficiary
	err := v.d.Engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		b, err = v.d.Beneficiaries.Get(r, v.s.User, id)
		return err
	})
	if fault.Is(err, "beneficiary_unknown") || err == nil && b.Fiat != v.fiat.Code {
		return quote.Beneficiary{}, "", v.say(fault.New("beneficiary_unknown", err), "beneficiary"), nil
	}
	if err != nil {
		return quote.Beneficiary{}, "", nil, err
	}
	account, err := v.d.Beneficiaries.Number(b)
	if err != nil {
		return quote.Beneficiary{}, "", nil, err
	}
	name, err := v.holder(ctx, b.BankCode, account)
	if fault.Is(err, "account_not_found") {
		return quote.Beneficiary{}, "", v.say(err, "beneficiary"), nil
	}
	if err != nil {
		name = b.Name
	}
	return quote.Beneficiary{
		ID: b.ID, BankCode: b.BankCode, BankName: b.BankName, Last4: b.Last4, Name: name, Digest: b.Digest, Since: b.CreatedAt,
	}, account, nil, nil
}
