package paystack

import (
	"context"
	"net/http"
	"sync"

	"offrampbot/services/ids"
	"offrampbot/services/payout"
)

// recipients remembers recipient codes by a keyed digest of bank and account, so that a second sale to one account saves
// a call. Losing it costs that call and nothing else: Paystack gives the same record again.
type recipients struct {
	mu    sync.Mutex
	key   []byte
	limit int
	codes map[string]string
}

func newRecipients(limit int, key []byte) *recipients {
	return &recipients{key: key, limit: limit, codes: make(map[string]string)}
}

// digest names the account of a request.
func (m *recipients) digest(r payout.Request) string {
	return ids.Digest(m.key, "recipient", r.Currency, r.BankCode, string(r.Account))
}

func (m *recipients) get(r payout.Request) (code string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	code, ok = m.codes[m.digest(r)]
	return code, ok
}

// put remembers a code; when memory is full any other makes room.
func (m *recipients) put(r payout.Request, code string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for old := range m.codes {
		if len(m.codes) < m.limit {
			break
		}
		delete(m.codes, old)
	}
	m.codes[m.digest(r)] = code
}

func (m *recipients) forget(r payout.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.codes, m.digest(r))
}

// recipientRequest is the body of POST /transferrecipient. The account goes out whole, so it is a plain string.
type recipientRequest struct {
	Type          string `json:"type"`
	Name          string `json:"name"`
	AccountNumber string `json:"account_number"`
	BankCode      string `json:"bank_code"`
	Currency      string `json:"currency"`
}

// recipient returns the code of the payee. Nothing has been paid when it fails: Failed when Paystack refuses the account
// as invalid, NotNow for everything else.
func (c *Client) recipient(ctx context.Context, r payout.Request) (code string, refused payout.Result, ok bool) {
	if code, ok := c.recipients.get(r); ok {
		return code, payout.Result{}, true
	}
	// A third of the time at most, so that enough is left for the call that moves money.
	ctx, cancel := within(ctx, c.cfg.Timeout/3, "paystack recipient")
	defer cancel()
	got, err := c.call(ctx, http.MethodPost, "/transferrecipient", nil, recipientRequest{
		Type: "nuban", Name: r.AccountName, AccountNumber: string(r.Account), BankCode: r.BankCode, Currency: r.Currency,
	})
	if err != nil {
		return "", notNow("recipient was not made: "+err.Error(), 0), false
	}
	if got.status == http.StatusTooManyRequests {
		return "", notNow("paystack asks to slow down", c.retryAfter(got.header)), false
	}
	a, err := readAnswer(got.body)
	if err != nil {
		return "", notNow("recipient was not made: "+err.Error(), 0), false
	}
	isInvalid := got.status == http.StatusBadRequest || got.status == http.StatusUnprocessableEntity
	switch {
	case a.isOK && (got.status == http.StatusOK || got.status == http.StatusCreated):
	case !a.isOK && isInvalid && a.kind == validationError:
		return "", failed("paystack refused the account: " + a.message), false
	default:
		return "", notNow("recipient was not made: "+a.message, 0), false
	}
	code, why := readRecipient(a, r)
	if why != "" {
		return "", notNow(why, 0), false
	}
	c.recipients.put(r, code)
	return code, payout.Result{}, true
}

// readRecipient reads the code, and refuses a recipient that is not the account asked for.
func readRecipient(a answer, r payout.Request) (code, problem string) {
	data, err := object(a.data)
	if err != nil {
		return "", "recipient was not made: " + err.Error()
	}
	details := data.inner("details")
	account, bank := details.text("account_number"), details.text("bank_code")
	code = data.text("recipient_code")
	switch {
	case !recipientForm.MatchString(code):
		return "", "recipient has no code"
	case account != string(r.Account) || bank != r.BankCode:
		return "", "recipient is another account"
	}
	return code, ""
}
