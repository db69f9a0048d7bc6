package paystack

import (
	"context"
	"net/http"
	"net/url"

	"offrampbot/services/payout"
)

// The refusals that we know, by code or by their exact text. In each of them nothing was paid.
const (
	codeDuplicate   = "duplicate_transfer_reference"
	codeRecipient   = "invalid_transfer_recipient"
	codeMissing     = "missing_params"
	textDuplicate   = "Please provide a unique reference. Reference already exists on a transfer"
	textBalance     = "Your balance is not enough to fulfill this request"
	textInvalidKey  = "Invalid key"
	textNotFound    = "Transfer not found"
	validationError = "validation_error"
)

// transferRequest is the body of POST /transfer.
type transferRequest struct {
	Source    string `json:"source"`
	Amount    int64  `json:"amount"`
	Currency  string `json:"currency"`
	Recipient string `json:"recipient"`
	Reference string `json:"reference"`
	Reason    string `json:"reason,omitempty"`
}

// Send pays. The recipient is made first, which moves no money; then one POST /transfer goes out. Amounts are kobo.
//
//   - Failed: the request contradicts itself, or Paystack refused it in words that we know.
//   - NotNow: nothing was sent yet, the float is empty, the key is refused, or 429 (RetryAfter).
//   - A duplicate reference is looked up, and must be this very payout.
//   - Everything else is Unknown.
func (c *Client) Send(ctx context.Context, r payout.Request) payout.Result {
	if why := problem(r); why != "" {
		return failed(why)
	}
	ctx, cancel := within(ctx, c.cfg.Timeout, "paystack transfer")
	defer cancel()
	recipient, refused, ok := c.recipient(ctx, r)
	if !ok {
		return refused
	}
	if ctx.Err() != nil {
		return notNow("time ended before anything was sent", 0)
	}
	got, err := c.call(ctx, http.MethodPost, "/transfer", nil, transferRequest{
		Source: "balance", Amount: int64(r.Amount), Currency: r.Currency, Recipient: recipient, Reference: r.Reference, Reason: r.Reason,
	})
	if err != nil {
		return unknown(err.Error())
	}
	if got.status == http.StatusTooManyRequests {
		return notNow("paystack asks to slow down", c.retryAfter(got.header))
	}
	a, err := readAnswer(got.body)
	if err != nil {
		return unknown(err.Error())
	}
	if a.isOK && (got.status == http.StatusOK || got.status == http.StatusCreated) {
		t, err := readTransfer(a.data)
		if err != nil {
			return unknown(err.Error())
		}
		return same(t, r)
	}
	return c.refusal(ctx, r, got.status, a)
}

// problem says why a request cannot be sent; nothing has been.
func problem(r payout.Request) string {
	_, isOurs := currencies[r.Currency]
	switch {
	case !isOurs:
		return "currency is not paid by this rail"
	case !referenceForm.MatchString(r.Reference):
		return "reference is not 16 to 50 lower-case letters, digits, - and _"
	case r.Amount <= 0:
		return "amount is not positive"
	case !bankForm.MatchString(r.BankCode):
		return "bank code is not one"
	case !accountForm.MatchString(string(r.Account)):
		return "account number is not ten digits"
	case r.AccountName == "":
		return "account name is missing"
	}
	return ""
}

// refusal reads an error answer of POST /transfer.
func (c *Client) refusal(ctx context.Context, r payout.Request, status int, a answer) payout.Result {
	isRefused := !a.isOK && (status == http.StatusBadRequest || status == http.StatusConflict || status == http.StatusUnprocessableEntity)
	switch {
	case isRefused && (a.code == codeDuplicate || a.message == textDuplicate):
		return c.existing(ctx, r)
	case isRefused && a.message == textBalance:
		return notNow("float is empty", 0)
	case isRefused && a.code == codeRecipient:
		c.recipients.forget(r)
		return failed("paystack refused the recipient: " + a.message)
	case isRefused && a.code == codeMissing:
		return failed("paystack refused the request: " + a.message)
	case !a.isOK && status == http.StatusUnauthorized && a.message == textInvalidKey:
		return notNow("paystack refused the secret key", 0)
	}
	return unknown("answer was never heard of: " + a.message)
}

// existing looks up a reference that Paystack has already.
func (c *Client) existing(ctx context.Context, r payout.Request) payout.Result {
	t, result := c.verify(ctx, r.Reference)
	if t == nil {
		if !result.Found {
			return unknown("paystack has the reference and does not find it")
		}
		return result
	}
	return same(*t, r)
}

// same is the ending of a transfer that must be this very payout: reference, amount, currency and, where the answer has
// it, the account.
func same(t transfer, r payout.Request) payout.Result {
	result := t.result(r.Reference)
	switch {
	case result.Outcome == payout.Unknown:
	case t.amount != r.Amount:
		return doubt(result, "paystack has another amount under this reference")
	case t.currency != r.Currency:
		return doubt(result, "paystack has another currency under this reference")
	case t.account != "" && t.account != string(r.Account), t.bankCode != "" && t.bankCode != r.BankCode:
		return doubt(result, "paystack has another account under this reference")
	}
	return result
}

// LookUp asks Paystack for a reference. Found is false only for the exact answer "Transfer not found" with 404.
func (c *Client) LookUp(ctx context.Context, reference string) payout.Result {
	if !referenceForm.MatchString(reference) {
		return unknown("reference is not one that this rail could have sent")
	}
	ctx, cancel := within(ctx, c.cfg.Timeout, "paystack look-up")
	defer cancel()
	t, result := c.verify(ctx, reference)
	if t == nil {
		return result
	}
	return t.result(reference)
}

// verify reads a transfer by its reference, or says what was learnt instead.
func (c *Client) verify(ctx context.Context, reference string) (*transfer, payout.Result) {
	got, err := c.call(ctx, http.MethodGet, "/transfer/verify/"+url.PathEscape(reference), nil, nil)
	if err != nil {
		return nil, unknown(err.Error())
	}
	if got.status == http.StatusTooManyRequests {
		result := unknown("paystack asks to slow down")
		result.RetryAfter = c.retryAfter(got.header)
		return nil, result
	}
	a, err := readAnswer(got.body)
	switch {
	case err != nil:
		return nil, unknown(err.Error())
	case got.status == http.StatusNotFound && !a.isOK && a.message == textNotFound:
		return nil, payout.Result{Outcome: payout.Unknown, Found: false, Reason: "unknown to the provider"}
	case got.status != http.StatusOK || !a.isOK:
		return nil, unknown("answer was never heard of: " + a.message)
	}
	t, err := readTransfer(a.data)
	if err != nil {
		return nil, unknown(err.Error())
	}
	return &t, payout.Result{}
}
