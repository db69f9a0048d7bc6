package ledger

import (
	"fmt"
	"time"

	"offrampbot/services/money"
)

// Steps books the steps of DESIGN §6 against one user's account. It only collects postings and changes the account in
// memory; the caller seals and stores both in one transaction.
type Steps struct {
	Account  *Account
	At       time.Time
	Postings []*Posting
}

// Sale is what the steps of one order need to know about it.
type Sale struct {
	Order     string
	Asset     string
	Fiat      string
	Amount    money.Micro
	Net       money.Minor // to the beneficiary
	Fee       money.Minor // ours
	Operation string      // the operation, or event, whose id the postings carry
}

// post collects one posting; an amount of zero is no posting.
func (s *Steps) post(id, step, debit, credit, asset string, amount int64, order string) {
	if amount == 0 {
		return
	}
	p := &Posting{
		Debit: debit, Credit: credit, Asset: asset, Amount: amount, Order: order, User: s.Account.User, At: s.At,
	}
	p.ID = id + ":" + step
	s.Postings = append(s.Postings, p)
}

// credit moves crypto from an account to the user; what the user owes is repaid first, in the same step (rule 8).
func (s *Steps) credit(id, step, from string, amount money.Micro, order string) {
	a := s.Account
	repaid := min(amount, a.Owed)
	s.post(id, step+"-repaid", from, Receivable(a.User, a.Asset), a.Asset, int64(repaid), order)
	s.post(id, step, from, available(a.User, a.Asset), a.Asset, int64(amount-repaid), order)
	a.Owed -= repaid
	a.Available += amount - repaid
}

// debit moves crypto from the user to an account, what is not there as a receivable; it returns the shortfall.
func (s *Steps) debit(id, step, to string, amount money.Micro, order string) (shortfall money.Micro) {
	a := s.Account
	taken := min(amount, a.Available)
	shortfall = amount - taken
	s.post(id, step, available(a.User, a.Asset), to, a.Asset, int64(taken), order)
	s.post(id, step+"-owed", Receivable(a.User, a.Asset), to, a.Asset, int64(shortfall), order)
	a.Available -= taken
	a.Owed += shortfall
	return shortfall
}

// DepositConfirmed credits a deposit. source is `<deposit ref>:<epoch>`.
func (s *Steps) DepositConfirmed(source, chain string, amount money.Micro) error {
	if amount <= 0 {
		return ErrAmount
	}
	s.credit(source, "credit", OnChain(chain, s.Account.Asset), amount, "")
	return nil
}

// DepositReverted takes a credit back; what is no longer there becomes a receivable, which is returned.
func (s *Steps) DepositReverted(source, chain string, amount money.Micro) (shortfall money.Micro, err error) {
	if amount <= 0 {
		return 0, ErrAmount
	}
	return s.debit(source, "reversal", OnChain(chain, s.Account.Asset), amount, ""), nil
}

// Funded places the hold of an order.
func (s *Steps) Funded(v Sale) error {
	a := s.Account
	if v.Amount <= 0 {
		return ErrAmount
	}
	if _, there := a.Holds[v.Order]; there {
		return fmt.Errorf("place hold of %s: %w", v.Order, ErrHold)
	}
	if a.Available < v.Amount {
		return fmt.Errorf("place hold of %s: %w", v.Order, ErrShort)
	}
	s.post(v.Operation, "hold", available(a.User, a.Asset), held(a.User, a.Asset), a.Asset, int64(v.Amount), v.Order)
	a.Available -= v.Amount
	a.Held += v.Amount
	a.Holds[v.Order] = v.Amount
	return nil
}

// unhold resolves the hold of an order. Invariant: a hold is posted or voided, once (I2).
func (s *Steps) unhold(v Sale) error {
	a := s.Account
	if n, there := a.Holds[v.Order]; !there || n != v.Amount {
		return fmt.Errorf("resolve hold of %s: %w", v.Order, ErrHold)
	}
	a.Held -= v.Amount
	delete(a.Holds, v.Order)
	return nil
}

// ExchangeDone books the fiat side: the desk owes the net to the bank and the fee to us.
func (s *Steps) ExchangeDone(v Sale) {
	s.post(v.Operation, "due", Desk(v.Fiat), Due(v.Fiat), v.Fiat, int64(v.Net), v.Order)
	s.post(v.Operation, "fee", Desk(v.Fiat), Fees(v.Fiat), v.Fiat, int64(v.Fee), v.Order)
}

// exchangeReversed takes ExchangeDone back, the fee included.
func (s *Steps) exchangeReversed(v Sale) {
	s.post(v.Operation, "due-back", Due(v.Fiat), Desk(v.Fiat), v.Fiat, int64(v.Net), v.Order)
	s.post(v.Operation, "fee-back", Fees(v.Fiat), Desk(v.Fiat), v.Fiat, int64(v.Fee), v.Order)
}

// PayoutPaid posts the hold and takes the net and the provider's own fee from the float.
func (s *Steps) PayoutPaid(v Sale, provider string, providerFee money.Minor) error {
	if err := s.unhold(v); err != nil {
		return err
	}
	a := s.Account
	s.post(v.Operation, "post", held(a.User, a.Asset), Desk(a.Asset), a.Asset, int64(v.Amount), v.Order)
	s.post(v.Operation, "float", Due(v.Fiat), Float(provider, v.Fiat), v.Fiat, int64(v.Net), v.Order)
	s.post(v.Operation, "charge", Fees(v.Fiat), Float(provider, v.Fiat), v.Fiat, int64(providerFee), v.Order)
	return nil
}

// Voided gives the hold back and, if the exchange was booked, reverses it.
func (s *Steps) Voided(v Sale, exchanged bool) error {
	if err := s.unhold(v); err != nil {
		return err
	}
	s.credit(v.Operation, "void", held(s.Account.User, s.Account.Asset), v.Amount, v.Order)
	if exchanged {
		s.exchangeReversed(v)
	}
	return nil
}

// SaleReversed books a payout that came back after it was paid: every entry of the sale in reverse.
func (s *Steps) SaleReversed(v Sale, provider string) {
	s.credit(v.Operation, "return", Desk(s.Account.Asset), v.Amount, v.Order)
	s.post(v.Operation, "float-back", Float(provider, v.Fiat), Due(v.Fiat), v.Fiat, int64(v.Net), v.Order)
	s.exchangeReversed(v)
}

// LatePaid books a payout that turned out paid after the hold was given back: the user pays for it with what is
// available, and owes the rest. The provider's own fee is taken from the float, as with any payment.
func (s *Steps) LatePaid(v Sale, provider string, providerFee money.Minor) {
	s.debit(v.Operation, "late", Desk(s.Account.Asset), v.Amount, v.Order)
	s.ExchangeDone(v)
	s.post(v.Operation, "late-float", Due(v.Fiat), Float(provider, v.Fiat), v.Fiat, int64(v.Net), v.Order)
	s.post(v.Operation, "late-charge", Fees(v.Fiat), Float(provider, v.Fiat), v.Fiat, int64(providerFee), v.Order)
}

// PaidTwice books a second payment of one sale: the user owes the fiat, and we bear the provider's own fee.
func (s *Steps) PaidTwice(v Sale, provider string, providerFee money.Minor) {
	a := s.Account
	s.post(v.Operation, "second", Receivable(a.User, v.Fiat), Float(provider, v.Fiat), v.Fiat, int64(v.Net), v.Order)
	s.post(v.Operation, "second-charge", Fees(v.Fiat), Float(provider, v.Fiat), v.Fiat, int64(providerFee), v.Order)
	a.OwedFiat[v.Fiat] += v.Net
}

// ToSuspense books money of a known asset on our addresses that belongs to nobody we know. It needs no account.
func ToSuspense(source, chain, asset string, amount money.Micro, at time.Time) *Posting {
	p := &Posting{Debit: OnChain(chain, asset), Credit: Suspense(chain, asset), Asset: asset, Amount: int64(amount), At: at}
	p.ID = source + ":suspense"
	return p
}

// FromSuspense takes ToSuspense back when its transfer was reverted.
func FromSuspense(source, chain, asset string, amount money.Micro, at time.Time) *Posting {
	p := &Posting{Debit: Suspense(chain, asset), Credit: OnChain(chain, asset), Asset: asset, Amount: int64(amount), At: at}
	p.ID = source + ":suspense-back"
	return p
}

// ToTreasury books a transfer from our addresses to the treasury.
func ToTreasury(source, chain, asset string, amount money.Micro, at time.Time) *Posting {
	p := &Posting{Debit: Treasury(asset), Credit: OnChain(chain, asset), Asset: asset, Amount: int64(amount), At: at}
	p.ID = source + ":treasury"
	return p
}
