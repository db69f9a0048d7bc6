package sandbox

import (
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

// Transfer statuses, in Paystack's words.
const (
	statusPending  = "pending"
	statusReceived = "received" // waits for the approval route
	statusSuccess  = "success"
	statusFailed   = "failed"
	statusReversed = "reversed"
	statusRejected = "rejected" // the approval route said no
	statusBlocked  = "blocked"  // the approval route did not answer
)

// transfer is what the bank really did about one reference.
type transfer struct {
	id          int64
	code        string // TRF_…
	reference   string
	amount      int64 // minor units
	fee         int64
	currency    string
	reason      string
	to          recipient
	status      string
	session     string // the bank rail's own id
	webhook     string // what its webhooks do, by a fault
	createdAt   time.Time
	updatedAt   time.Time
	transferred time.Time // zero until it was with the bank
	moneyIsAway bool      // taken from the balance and not returned
}

// bank is the truth about the money: balances, recipients, transfers.
type bank struct {
	mu         sync.Mutex
	now        func() time.Time
	balance    map[string]int64
	recipients map[string]recipient // by account
	byCode     map[string]recipient
	transfers  map[string]*transfer
	order      []string
	pending    map[string]*transfer // those that the automatic time may pay
	calls      map[string]int       // POST /transfer by reference, whatever came of it
	ledger     []gin.H
	auto       time.Duration
}

func newBank(cfg Config) *bank {
	balance := make(map[string]int64, len(cfg.Balance))
	for currency, amount := range cfg.Balance {
		balance[currency] = amount
	}
	return &bank{
		now: cfg.Now, balance: balance, recipients: make(map[string]recipient), byCode: make(map[string]recipient),
		transfers: make(map[string]*transfer), calls: make(map[string]int), pending: make(map[string]*transfer), auto: cfg.BankAuto,
	}
}

func (b *bank) recipientFor(account string, create func() recipient) recipient {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, found := b.recipients[account]
	if !found {
		r = create()
		b.recipients[account], b.byCode[r.code] = r, r
	}
	return r
}

// count notes that a POST /transfer named a reference.
func (b *bank) count(reference string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[reference]++
}

// open makes a transfer unless the reference is taken or the balance is short; refused is "" when it was made. From then on
// only the bank touches t: made is a copy as it was at that moment.
func (b *bank) open(t *transfer) (made transfer, refused string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.transfers[t.reference] != nil {
		return transfer{}, "duplicate_transfer_reference"
	}
	if b.balance[t.currency] < t.amount+t.fee {
		return transfer{}, "insufficient_balance"
	}
	b.transfers[t.reference] = t
	b.order = append(b.order, t.reference)
	b.move(t, true)
	if t.status == statusPending {
		b.pending[t.reference] = t
	}
	return *t, ""
}

// move takes a transfer's money from the balance or puts it back, once each. The caller holds the lock.
func (b *bank) move(t *transfer, away bool) {
	if t.moneyIsAway == away {
		return
	}
	change := -(t.amount + t.fee)
	if !away {
		change = -change
	}
	t.moneyIsAway = away
	b.balance[t.currency] += change
	b.ledger = append(b.ledger, gin.H{
		"currency": t.currency, "difference": change, "balance": b.balance[t.currency], "model_responsible": "Transfer",
		"model_row": t.id, "reason": t.reference, "createdAt": stamp(b.now()),
	})
}

// settle gives a transfer another status and returns a copy; found is false for an unknown reference.
func (b *bank) settle(reference, status string) (copied transfer, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.transfers[reference]
	if t == nil {
		return transfer{}, false
	}
	b.setStatus(t, status)
	return *t, true
}

func (b *bank) setStatus(t *transfer, status string) {
	t.status, t.updatedAt = status, b.now()
	delete(b.pending, t.reference)
	switch status {
	case statusPending:
		b.pending[t.reference] = t
	case statusSuccess:
		t.transferred = b.now()
		b.move(t, true)
	case statusReversed:
		if t.transferred.IsZero() {
			t.transferred = b.now()
		}
		b.move(t, false)
	case statusFailed, statusRejected, statusBlocked:
		b.move(t, false)
	}
}

// settleDue pays every pending transfer that is older than the automatic time.
func (b *bank) settleDue() []transfer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.auto <= 0 {
		return nil
	}
	var paid []transfer
	for _, reference := range sortedNames(b.pending) {
		if t := b.pending[reference]; b.now().Sub(t.createdAt) >= b.auto {
			b.setStatus(t, statusSuccess)
			paid = append(paid, *t)
		}
	}
	return paid
}

func (b *bank) setAuto(after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.auto = after
}

func (b *bank) setBalance(currency string, amount int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.balance[currency] = amount
}

func (b *bank) get(reference string) (transfer, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.transfers[reference]
	if t == nil {
		return transfer{}, false
	}
	return *t, true
}

// all returns copies of every transfer in the order they were made, with how often each reference was posted.
func (b *bank) all() ([]transfer, map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]transfer, len(b.order))
	calls := make(map[string]int, len(b.order))
	for i, reference := range b.order {
		out[i], calls[reference] = *b.transfers[reference], b.calls[reference]
	}
	return out, calls
}

func (b *bank) showBalance() reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	data := []any{}
	for _, currency := range sortedNames(b.balance) {
		data = append(data, gin.H{"currency": currency, "balance": b.balance[currency]})
	}
	return paystackOK("Balances retrieved", data)
}

func (b *bank) showLedger() reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	return paystackOK("Balance ledger retrieved", slices.Clone(b.ledger))
}

// stamp writes a time as Paystack does.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
