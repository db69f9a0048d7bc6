package paystack

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"offrampbot/services/money"
	"offrampbot/services/payout"
)

// fields is a JSON object read by exact names: Go's own decoder also takes "Status" for "status".
type fields map[string]json.RawMessage

// object reads a JSON object and nothing behind it.
func object(raw []byte) (fields, error) {
	var f fields
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, errors.New("answer is not a JSON object")
	}
	if f == nil {
		return nil, errors.New("answer is null")
	}
	return f, nil
}

// text is a string field; empty when it is absent, null or no string.
func (f fields) text(name string) string {
	var s string
	if json.Unmarshal(f[name], &s) != nil {
		return ""
	}
	return s
}

// integer is a whole number; ok is false for anything else, null, a fraction and a string included.
func (f fields) integer(name string) (n int64, ok bool) {
	raw := f[name]
	if len(raw) == 0 || string(raw) == "null" {
		return 0, false
	}
	if json.Unmarshal(raw, &n) != nil {
		return 0, false
	}
	return n, true
}

// isTrue reports whether a field is the literal true.
func (f fields) isTrue(name string) bool { return string(f[name]) == "true" }

// inner is an object inside; nil when it is absent or something else (a recipient is a number in one answer and an
// object in the next, so is integration).
func (f fields) inner(name string) fields {
	inner, err := object(f[name])
	if err != nil {
		return nil
	}
	return inner
}

// answer is the envelope of every answer.
type answer struct {
	isOK    bool
	message string
	code    string
	kind    string
	data    json.RawMessage
}

// readAnswer reads the envelope. Its status is a truth value, or sometimes the string "false".
func readAnswer(body []byte) (answer, error) {
	f, err := object(body)
	if err != nil {
		return answer{}, err
	}
	a := answer{message: f.text("message"), code: f.text("code"), kind: f.text("type"), data: f["data"]}
	switch string(f["status"]) {
	case "true":
		a.isOK = true
	case "false", `"false"`:
	default:
		return answer{}, errors.New("answer has no status")
	}
	return a, nil
}

// transfer is what an answer says about one transfer.
type transfer struct {
	reference   string
	amount      money.Minor
	currency    string
	status      string
	code        string
	fee         money.Minor
	session     string
	gateway     string
	at          time.Time
	account     string // of the recipient, where the answer has it
	bankCode    string
	hasIdentity bool // reference, amount and currency are all there
}

// readTransfer reads the transfer of an answer. `createdAt` and `created_at`, `integration` and the short form of
// `recipient` differ between answers and are not read.
func readTransfer(data json.RawMessage) (transfer, error) {
	f, err := object(data)
	if err != nil {
		return transfer{}, fmt.Errorf("read transfer: %w", err)
	}
	amount, hasAmount := f.integer("amount")
	t := transfer{
		reference: f.text("reference"), amount: money.Minor(amount), currency: f.text("currency"), status: f.text("status"),
		gateway: f.text("gateway_response"),
	}
	t.hasIdentity = hasAmount && amount > 0 && t.reference != "" && t.currency != ""
	if code := f.text("transfer_code"); transferForm.MatchString(code) {
		t.code = code
	}
	if fee, ok := f.integer("fee_charged"); ok && fee > 0 {
		t.fee = money.Minor(fee)
	}
	t.session = f.inner("session").text("id")
	details := f.inner("recipient").inner("details")
	t.account, t.bankCode = details.text("account_number"), details.text("bank_code")
	for _, name := range []string{"transferred_at", "updatedAt", "updated_at"} {
		if at, err := time.Parse(time.RFC3339, f.text(name)); err == nil {
			t.at = at.UTC()
			break
		}
	}
	return t, nil
}

// outcomes is every status that we know, and what it means. A status that is not here is Unknown.
var outcomes = map[string]payout.Outcome{
	"success":   payout.Success,
	"pending":   payout.Accepted,
	"received":  payout.Accepted, // waits for our approval route
	"otp":       payout.Accepted, // a person must switch one-time passwords off
	"failed":    payout.Failed,
	"abandoned": payout.Failed, // the one-time password was never given
	"blocked":   payout.Failed, // our approval route did not answer
	"rejected":  payout.Failed, // our approval route refused
	"reversed":  payout.Reversed,
}

// otpReason is the reason of an accepted transfer that will not move by itself; the caller raises an alert.
const otpReason = "paystack asks for a one-time password: switch it off for transfers"

// result turns a transfer into an ending. asked is the reference that the answer must be about.
func (t transfer) result(asked string) payout.Result {
	r := payout.Result{
		Found: true, Reference: t.reference, ProviderID: t.code, SessionID: t.session, Amount: t.amount, Currency: t.currency,
		FeeMinor: t.fee, Reason: clean(t.gateway), RawStatus: clean(t.status), At: t.at,
	}
	outcome, known := outcomes[t.status]
	_, isOurs := currencies[t.currency]
	switch {
	case !t.hasIdentity:
		return doubt(r, "answer does not name reference, amount and currency")
	case t.reference != asked:
		return doubt(r, "answer is about another reference")
	case !isOurs:
		return doubt(r, "answer is in another currency")
	case !known:
		return doubt(r, "status was never heard of")
	}
	r.Outcome = outcome
	if t.status == "otp" {
		r.Reason = otpReason
	}
	return r
}

// doubt is what was read, as an unknown.
func doubt(r payout.Result, why string) payout.Result {
	r.Outcome, r.Found, r.Reason = payout.Unknown, true, why
	return r
}

// unknown is an ending of which nothing was learnt.
func unknown(why string) payout.Result {
	return payout.Result{Outcome: payout.Unknown, Found: true, Reason: clean(why)}
}

// notNow is an ending of a call that conclusively did nothing.
func notNow(why string, wait time.Duration) payout.Result {
	return payout.Result{Outcome: payout.NotNow, Found: true, Reason: clean(why), RetryAfter: wait}
}

// failed is an ending of a payout that conclusively will not happen.
func failed(why string) payout.Result {
	return payout.Result{Outcome: payout.Failed, Found: true, Reason: clean(why)}
}

// longDigits may be an account number; a provider's text must not carry one into a log.
var longDigits = regexp.MustCompile(`[0-9]{6,}`)

// maxReason is the most characters of a provider's text that are kept.
const maxReason = 200

// clean is a provider's text as it may be kept: valid, short, on one line, without long numbers.
func clean(text string) string {
	text = longDigits.ReplaceAllString(strings.ToValidUTF8(text, ""), "****")
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > maxReason {
		text = string([]rune(text)[:maxReason])
	}
	return text
}
