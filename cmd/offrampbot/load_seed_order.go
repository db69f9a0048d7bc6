package main

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/deposit"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// person adds one person with a beneficiary, a deposit and a number of final orders.
func (r *seedRun) person(b *seedBatch, person, firstOrder, orders int) error {
	at := r.first.Add(time.Duration(firstOrder) * seedStep)
	u := r.user(person, at)
	b.add(store.Users, u)
	heads := &seedHeads{heads: map[string]*audit.Head{}}
	if err := b.trail(heads, audit.Entry{Stream: user.Stream(u.ID), At: at, Actor: "user:" + u.ID, Action: "signed up"}); err != nil {
		return err
	}
	b.link(u.WhatsAppID, "user", user.Stream(u.ID))
	account := &ledger.Account{
		Meta: store.Meta{ID: ledger.AccountID(u.ID, loadAsset), Version: 1}, User: u.ID, Asset: loadAsset,
		Holds: map[string]money.Micro{}, OwedFiat: map[string]money.Minor{}, Sequence: 1,
	}
	beneficiary, err := r.beneficiary(b, u, person, at)
	if err != nil {
		return err
	}
	var sum money.Micro
	for i := range orders {
		sum += seedAmount(firstOrder + i)
	}
	if err := r.deposit(b, account, person, sum, at); err != nil {
		return err
	}
	for i := range orders {
		n := firstOrder + i
		account, err = r.order(b, heads, u, account, beneficiary, n, r.first.Add(time.Duration(n)*seedStep))
		if err != nil {
			return fmt.Errorf("seed order %d: %w", n, err)
		}
	}
	b.add(store.Accounts, account)
	for _, h := range heads.heads {
		b.add(store.Heads, h)
	}
	return nil
}

// seedAmount is what an order sells: 5 to 104 whole tokens.
func seedAmount(n int) money.Micro { return money.Micro(5+n%100) * 1_000_000 }

func (r *seedRun) user(person int, at time.Time) *user.User {
	u := &user.User{
		WhatsAppID: fmt.Sprintf("999%06d%06d", r.run%1_000_000, person), Name: fmt.Sprintf(seedNames, person), Country: "NG", Language: "en",
		Status: user.Active, Tier: r.app.registry.Tiers()[0].ID, LastInbound: at, CreatedAt: at, SignedUpAt: &at,
	}
	u.ID, u.Version = "u_"+ids.Digest(r.key, "user", seedLedger, fmt.Sprint(r.run), fmt.Sprint(person))[:22], 1
	return u
}

// beneficiary saves a bank account, sealed as every other one.
func (r *seedRun) beneficiary(b *seedBatch, u *user.User, person int, at time.Time) (quote.Beneficiary, error) {
	book, err := user.NewBeneficiaries(r.app.sealer, r.key, now)
	if err != nil {
		return quote.Beneficiary{}, err
	}
	number := payout.AccountNumber(fmt.Sprintf("9%09d", person))
	saved := &user.Beneficiary{
		Meta: store.Meta{ID: book.ID(u.ID, loadBank, number), Version: 1}, User: u.ID, Fiat: seedFiat, BankCode: loadBank,
		BankName: "Guaranty Trust Bank", Digest: book.Digest(loadBank, number), Last4: number.Last4(), Name: u.Name, CreatedAt: at, UsedAt: at,
	}
	if saved.Sealed, err = r.app.sealer.Seal([]byte(number), saved.ID); err != nil {
		return quote.Beneficiary{}, err
	}
	b.add(store.Beneficiaries, saved)
	out := quote.Beneficiary{
		ID: saved.ID, BankCode: saved.BankCode, BankName: saved.BankName, Last4: saved.Last4, Name: saved.Name, Digest: saved.Digest, Since: at,
	}
	out.Sealed, err = r.app.sealer.Seal([]byte(number), out.Record())
	return out, err
}

func seededDeposit(r *seedRun, userID string, person int, amount money.Micro, raw *big.Int, at time.Time) (*deposit.Deposit, error) {
	d := &deposit.Deposit{
		Chain: loadChain, Tx: r.transaction(person), Contract: r.token.Contract, Asset: loadAsset, From: fmt.Sprintf(seedAddress, 1),
		To: fmt.Sprintf(seedAddress, person+2), User: userID, Raw: raw.String(), Micro: amount, Block: 1, BlockHash: r.transaction(person),
		State: deposit.Settled, Epoch: 1, Credited: true, SeenAt: at, CreditedAt: &at,
	}
	d.ID, d.Version = deposit.Ref(d.Chain, d.Tx, d.Ordinal), 1
	d.Fingerprint = ids.Digest(r.key, d.Contract, d.From, d.To, d.Raw)
	return d, nil
}

// seededSale is one order on its way through the table.
type seededSale struct {
	order      *offramp.Order
	account    *ledger.Account
	operations map[string]*operation.Operation
	kept       []string // ids of the operations that are stored: those that move money
	postings   []*ledger.Posting
	entries    []audit.Entry
	references []string
}

// order plays one sale through the order table and adds everything that it leaves behind.
func (r *seedRun) order(b *seedBatch, heads *seedHeads, u *user.User, account *ledger.Account, to quote.Beneficiary, n int,
	at time.Time,
) (*ledger.Account, error) {
	intent, err := ids.NewIntent()
	if err != nil {
		return nil, err
	}
	q := &quote.Quote{
		User: u.ID, Asset: loadAsset, Chain: loadChain, Amount: seedAmount(n), Fiat: seedFiat, Beneficiary: to, State: quote.Taken, Order: intent,
		Content: ids.Digest(r.key, "seed", intent), CreatedAt: at, ExpiresAt: at.Add(time.Minute),
	}
	q.ID, q.Version = intent, 1
	if err := q.Price(r.rate, r.fee); err != nil {
		return nil, err
	}
	s := &seededSale{
		account: account, operations: map[string]*operation.Operation{},
		order: &offramp.Order{
			Meta: store.Meta{ID: intent, Version: 1}, Reference: r.reference(intent), User: u.ID, Phase: offramp.NoPhase, Quote: intent,
			Asset: q.Asset, Chain: q.Chain, Amount: q.Amount, Fiat: q.Fiat, Rate: q.Rate, Gross: q.Gross, Remainder: q.Remainder, Fee: q.Fee,
			Net: q.Net, Beneficiary: to, Content: q.Content, Hold: offramp.NotHeld, CreatedAt: at, UpdatedAt: at,
		},
	}
	if err := s.play(q, r.exponent, at); err != nil {
		return nil, err
	}
	b.add(store.Quotes, q)
	return s.account, s.leave(b, heads)
}

// reference is a reference for people that no other order of this run has.
func (r *seedRun) reference(intent string) string {
	for n := 1; ; n++ {
		if reference := ids.Reference(r.key, intent, n); !r.known[reference] {
			r.known[reference] = true
			return reference
		}
	}
}

// play raises the events of an undisturbed sale.
func (s *seededSale) play(q *quote.Quote, exponent int, at time.Time) error {
	id := "seed:" + q.ID
	for i, e := range []offramp.Occurrence{
		{On: offramp.Placed, ID: id, Key: q.ID, By: offramp.ByUser, Who: "user:" + q.User, Quote: q},
		{On: offramp.ExchangeDone, ID: id, Attempt: 1, By: offramp.ByVenue, ProviderID: id},
		{On: offramp.PayoutAccepted, ID: id, Attempt: 1, By: offramp.ByProvider, ProviderID: id},
		{On: offramp.PayoutPaid, ID: id, Attempt: 1, By: offramp.ByProvider, ProviderID: id, Fee: 2_500},
	} {
		e.At = at.Add(time.Duration(i) * time.Second)
		c, err := offramp.Apply(s.order, e, offramp.Facts{
			Account: s.account, Rail: "paystack", Venue: "desk", Chain: q.Chain, Exponent: exponent, Current: s.operations[s.order.OperationID()],
		}, offramp.DefaultPolicy())
		if err != nil {
			return err
		}
		s.take(c)
	}
	if s.order.State != offramp.Success {
		return fmt.Errorf("the sale ended as %s", s.order.State)
	}
	return nil
}

func (s *seededSale) take(c *offramp.Change) {
	s.order, s.account = c.Order, c.Account
	s.postings, s.entries, s.references = append(s.postings, c.Postings...), append(s.entries, c.Audit...), append(s.references, c.References...)
	for _, op := range c.Insert {
		if op.Kind == operation.StartExchange || op.Kind == operation.Payout {
			s.kept = append(s.kept, op.ID)
		}
		s.operations[op.ID] = op
	}
	for _, op := range c.Replace {
		s.operations[op.ID] = op
	}
}

// leave adds what the sale left behind. Its look-ups are not kept, and so the order names none.
func (s *seededSale) leave(b *seedBatch, heads *seedHeads) error {
	s.order.LookUp = ""
	b.add(store.Orders, s.order)
	for _, id := range s.kept {
		b.add(store.Outbox, s.operations[id])
	}
	for _, p := range s.postings {
		b.add(store.Postings, p)
	}
	for _, e := range s.entries {
		if err := b.trail(heads, e); err != nil {
			return err
		}
	}
	names := append(s.references, s.order.Reference, s.order.ID)
	slices.Sort(names)
	for _, id := range slices.Compact(names) { // the provider names its transfer twice: accepted and paid
		b.link(id, "order", s.order.ID)
	}
	return nil
}
