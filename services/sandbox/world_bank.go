package sandbox

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// bankTransfer is what a provider really did about one reference. Calls counts POST /transfer.
type bankTransfer struct {
	Provider      string    `json:"provider"`
	Reference     string    `json:"reference"`
	AmountMinor   int64     `json:"amount_minor"`
	Currency      string    `json:"currency"`
	BankCode      string    `json:"bank_code"`
	AccountNumber string    `json:"account_number"`
	AccountName   string    `json:"account_name"`
	Status        string    `json:"status"`
	Calls         int       `json:"calls"`
	At            time.Time `json:"at"`
}

// settleLever is the request of POST /world/bank/transfers/:reference.
type settleLever struct {
	Status  string `json:"status"`
	Webhook *bool  `json:"webhook"` // default true
	Copies  int    `json:"copies"`
}

type balanceLever struct {
	Currency    string `json:"currency"`
	AmountMinor *int64 `json:"amount_minor"`
}

func (w *World) listBankTransfers(c *gin.Context) {
	transfers, calls := w.bank.all()
	out := []bankTransfer{}
	for _, t := range transfers {
		out = append(out, bankTransfer{
			Provider: targetPaystack, Reference: t.reference, AmountMinor: t.amount, Currency: t.currency, BankCode: t.to.bank.code,
			AccountNumber: t.to.account, AccountName: w.holderOf(t.to.bank.code, t.to.account), Status: t.status,
			Calls: calls[t.reference], At: t.createdAt,
		})
	}
	c.JSON(http.StatusOK, listOf(out))
}

// postSettle settles, fails or reverses a transfer, whatever it was before, and delivers its webhook.
func (w *World) postSettle(c *gin.Context, in settleLever) (any, error) {
	reference := c.Param("reference")
	switch in.Status {
	case statusSuccess, statusFailed, statusReversed:
	default:
		return nil, invalid("status_invalid", "status must be success, failed or reversed")
	}
	copies, err := copiesOf(in.Copies)
	if err != nil {
		return nil, err
	}
	if in.Webhook != nil && !*in.Webhook {
		copies = 0
	}
	if _, found := w.bank.get(reference); !found {
		return nil, notFound("reference_unknown", "there is no transfer %q", reference)
	}
	t, deliveries := w.settleAndTell(c.Request.Context(), reference, in.Status, copies)
	return gin.H{"reference": t.reference, "status": t.status, "deliveries": deliveries}, nil
}

func (w *World) postBankAuto(_ *gin.Context, in secondsLever) (any, error) {
	after, err := in.duration()
	if err != nil {
		return nil, err
	}
	w.bank.setAuto(after)
	return gin.H{"seconds": *in.Seconds}, nil
}

func (w *World) postBankBalance(_ *gin.Context, in balanceLever) (any, error) {
	if in.Currency == "" || in.AmountMinor == nil || *in.AmountMinor < 0 {
		return nil, invalid("balance_invalid", "currency and amount_minor are needed, amount_minor not negative")
	}
	w.bank.setBalance(in.Currency, *in.AmountMinor)
	return gin.H{"currency": in.Currency, "amount_minor": *in.AmountMinor}, nil
}
