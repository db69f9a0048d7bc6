package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

// integration is the number of our account at Paystack.
const integration = 463433

// referencePattern is Paystack's rule for references: lower-case letters, digits, - and _, at least 16.
var referencePattern = regexp.MustCompile(`^[a-z0-9_-]{16,100}$`)

// transferRequest is the body of POST /transfer.
type transferRequest struct {
	Source    string `json:"source"`
	Amount    int64  `json:"amount"`
	Recipient string `json:"recipient"`
	Reference string `json:"reference"`
	Reason    string `json:"reason"`
	Currency  string `json:"currency"`
}

// postTransfer counts the call, then makes the transfer under the faults of "transfer".
func (w *World) postTransfer(c *gin.Context, body []byte) {
	var in transferRequest
	if err := json.Unmarshal(body, &in); err != nil {
		write(c, paystackError(http.StatusBadRequest, "invalid_params", "The request body is invalid"))
		return
	}
	w.bank.count(in.Reference)
	ctx := context.WithoutCancel(c.Request.Context()) // the bank goes on when the caller has left
	w.paystackCall(c, operationTransfer, func(p plan) reply { return w.makeTransfer(ctx, in, p) })
}

func (w *World) makeTransfer(ctx context.Context, in transferRequest, p plan) reply {
	if in.Source != "balance" || in.Recipient == "" || in.Reference == "" {
		return paystackRefusal("missing_params")
	}
	if !referencePattern.MatchString(in.Reference) {
		return paystackError(http.StatusBadRequest, "invalid_reference",
			"Reference must be at least 16 characters long and contain only lower-case letters, digits, - and _")
	}
	if in.Amount <= 0 {
		return paystackError(http.StatusBadRequest, "invalid_amount", "Amount must be a positive integer in the minor unit")
	}
	to, found := w.bank.recipientByCode(in.Recipient)
	if !found {
		return paystackRefusal("invalid_transfer_recipient")
	}
	currency := orString(in.Currency, to.currency)
	if currency != to.currency {
		return paystackError(http.StatusBadRequest, "invalid_currency", "Currency does not match the recipient's")
	}
	now := w.cfg.Now()
	t := &transfer{
		id: w.mint.number("transfer"), code: "TRF_" + w.mint.code("transfer-code", 15), reference: in.Reference, amount: in.Amount,
		fee: feeOf(currency, in.Amount), currency: currency, reason: in.Reason, to: to, status: statusPending, webhook: p.webhook,
		session: "1000042" + w.mint.hex("nip", 20), createdAt: now, updatedAt: now,
	}
	if w.cfg.Approval {
		t.status = statusReceived
	}
	made, refused := w.bank.open(t)
	if refused != "" {
		return paystackRefusal(refused)
	}
	w.hub.tell(event{Kind: "bank", ID: made.reference, Text: made.status})
	switch {
	case p.webhook == faultWebhookFirst:
		w.settleAndTell(ctx, made.reference, statusSuccess, 1)
	case w.cfg.Approval:
		w.queue.add(0, func(ctx context.Context) bool { return w.askApproval(ctx, made.reference) })
	}
	return paystackOK(transferMessage(made.status), w.createdBody(made))
}

func transferMessage(status string) string {
	if status == statusPending || status == statusReceived {
		return "Transfer has been queued"
	}
	return "Transfer requires OTP to continue"
}

// feeOf is what Paystack charges for a transfer, in minor units.
func feeOf(currency string, amount int64) int64 {
	if currency != "NGN" {
		return 100
	}
	switch {
	case amount <= 500_000:
		return 1_000
	case amount <= 5_000_000:
		return 2_500
	}
	return 5_000
}

// createdBody is a transfer as POST /transfer shows it: the recipient is a number here, and an object elsewhere.
func (w *World) createdBody(t transfer) gin.H {
	return gin.H{
		"transfersessionid": []any{}, "domain": "test", "amount": t.amount, "currency": t.currency, "reference": t.reference,
		"source": "balance", "source_details": nil, "reason": t.reason, "status": t.status, "failures": nil,
		"transfer_code": t.code, "titan_code": nil, "transferred_at": nil, "id": t.id, "integration": integration,
		"request": 1, "recipient": t.to.id, "createdAt": stamp(t.createdAt), "updatedAt": stamp(t.updatedAt),
	}
}

// transferBody is a transfer as verify and fetch show it.
func (w *World) transferBody(t transfer) gin.H {
	body := w.createdBody(t)
	body["recipient"] = w.recipientBody(t.to)
	body["fee_charged"] = t.fee
	body["fees_breakdown"] = nil
	body["gateway_response"] = nil
	body["session"] = gin.H{"provider": "nip", "id": t.session}
	if !t.transferred.IsZero() {
		body["transferred_at"] = stamp(t.transferred)
	}
	if t.status == statusFailed {
		body["gateway_response"] = "Beneficiary bank could not be reached"
	}
	return body
}

func (w *World) verifyTransfer(reference string) reply {
	t, found := w.bank.get(reference)
	if !found {
		return paystackRefusal("transfer_not_found")
	}
	return paystackOK("Transfer retrieved", w.transferBody(t))
}

func (w *World) fetchTransfer(idOrCode string) reply {
	transfers, _ := w.bank.all()
	for _, t := range transfers {
		if t.code == idOrCode || strconv.FormatInt(t.id, 10) == idOrCode {
			return paystackOK("Transfer retrieved", w.transferBody(t))
		}
	}
	return paystackRefusal("transfer_not_found")
}

func (w *World) finalizeTransfer(body []byte) reply {
	var in struct {
		Code string `json:"transfer_code"`
		OTP  string `json:"otp"`
	}
	if json.Unmarshal(body, &in) != nil || in.Code == "" || in.OTP == "" {
		return paystackRefusal("missing_params")
	}
	transfers, _ := w.bank.all()
	for _, t := range transfers {
		if t.code == in.Code {
			return paystackError(http.StatusBadRequest, "invalid_transfer_status", "Transfer is not currently awaiting OTP")
		}
	}
	return paystackRefusal("transfer_not_found")
}

func (b *bank) listTransfers(status string) reply {
	transfers, _ := b.all()
	data := []any{}
	for i := len(transfers) - 1; i >= 0; i-- {
		t := transfers[i]
		if status == "" || t.status == status {
			data = append(data, gin.H{
				"amount": t.amount, "currency": t.currency, "reference": t.reference, "status": t.status, "transfer_code": t.code,
				"id": t.id, "reason": t.reason, "recipient": gin.H{"recipient_code": t.to.code, "currency": t.currency, "name": t.to.name},
				"createdAt": stamp(t.createdAt), "updatedAt": stamp(t.updatedAt),
			})
		}
	}
	r := paystackOK("Transfers retrieved", data)
	r.body.(gin.H)["meta"] = gin.H{"total": len(data), "skipped": 0, "perPage": 50, "page": 1, "pageCount": 1}
	return r
}

func (b *bank) recipientByCode(code string) (recipient, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, found := b.byCode[code]
	return r, found
}

// transferEvent is the webhook of a transfer's ending. As at Paystack, success says createdAt and the others created_at.
func (w *World) transferEvent(t transfer) gin.H {
	data := w.transferBody(t)
	data["integration"] = gin.H{"id": integration, "is_live": false, "business_name": "Sandbox"}
	if t.status != statusSuccess {
		for _, name := range []string{"created", "updated"} {
			data[name+"_at"] = data[name+"At"]
			delete(data, name+"At")
		}
	}
	return gin.H{"event": "transfer." + t.status, "data": data}
}

// settleAndTell settles a transfer and delivers copies of its webhook at the same time.
func (w *World) settleAndTell(ctx context.Context, reference, status string, copies int) (transfer, []delivery) {
	t, found := w.bank.settle(reference, status)
	if !found {
		return transfer{}, nil
	}
	w.hub.tell(event{Kind: "bank", ID: reference, Text: status})
	p, err := w.paystackParcel(paystackPath, w.transferEvent(t))
	if err != nil || copies == 0 {
		return t, []delivery{}
	}
	return t, w.deliver(ctx, p, copies)
}

// tellLater queues the webhook of a transfer that was settled by itself, as its faults want it.
func (w *World) tellLater(t transfer) {
	w.hub.tell(event{Kind: "bank", ID: t.reference, Text: t.status})
	p, err := w.paystackParcel(paystackPath, w.transferEvent(t))
	if err != nil || t.webhook == faultWebhookNever {
		return
	}
	w.later(0, p)
	if t.webhook == faultWebhookTwice {
		w.later(0, p)
	}
}

// askApproval asks the bot whether a transfer may go out: 200 approves, 400 rejects, anything else is asked again and
// blocks the transfer in the end.
func (w *World) askApproval(ctx context.Context, reference string) bool {
	t, found := w.bank.get(reference)
	if !found || t.status != statusReceived {
		return true
	}
	p, err := w.paystackParcel(approvalPath, w.approvalBody(t))
	if err != nil {
		return true
	}
	status, _ := w.post(ctx, p)
	switch {
	case status == http.StatusOK:
		w.bank.settle(reference, statusPending)
	case status == http.StatusBadRequest:
		w.bank.settle(reference, statusRejected)
	case w.cfg.Now().Sub(t.createdAt) > approvalPatience:
		w.bank.settle(reference, statusBlocked)
	default:
		return false
	}
	after, _ := w.bank.get(reference)
	w.hub.tell(event{Kind: "bank", ID: reference, Text: after.status})
	return true
}

// approvalPatience is how long Paystack waits for the approval route.
const approvalPatience = time.Minute

// approvalBody is what the approval route is asked with: the transfer.
func (w *World) approvalBody(t transfer) gin.H {
	body := w.transferBody(t)
	body["event"] = "transfer.approval"
	body["data"] = w.transferBody(t)
	return body
}
