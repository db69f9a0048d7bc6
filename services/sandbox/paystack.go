package sandbox

import (
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// servePaystack serves /paystack/…: the part of Paystack's API that pays money out (paystack.com/docs/transfers).
func (w *World) servePaystack(c *gin.Context) {
	if !sameBearer(c.GetHeader("Authorization"), w.secrets.PaystackSecret) {
		write(c, paystackError(http.StatusUnauthorized, "invalid_Key", "Invalid key"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxWorldBody))
	if err != nil {
		write(c, paystackError(http.StatusRequestEntityTooLarge, "invalid_params", "The request body is too large"))
		return
	}
	path := strings.TrimRight(c.Param("path"), "/")
	switch c.Request.Method + " " + path {
	case "GET /bank":
		w.paystackCall(c, "banks", func(plan) reply { return listBanks(c.Query("currency"), c.Query("type")) })
	case "GET /bank/resolve":
		w.paystackCall(c, "resolve", func(plan) reply { return w.resolveAccount(c.Query("account_number"), c.Query("bank_code")) })
	case "POST /transferrecipient":
		w.paystackCall(c, operationRecipient, func(plan) reply { return w.createRecipient(body) })
	case "POST /transfer":
		w.postTransfer(c, body)
	case "POST /transfer/finalize_transfer":
		w.paystackCall(c, "finalize", func(plan) reply { return w.finalizeTransfer(body) })
	case "POST /transfer/disable_otp", "POST /transfer/disable_otp_finalize":
		write(c, paystackOK("OTP requirement for transfers has been disabled", nil))
	case "GET /balance":
		w.paystackCall(c, "balance", func(plan) reply { return w.bank.showBalance() })
	case "GET /balance/ledger":
		write(c, w.bank.showLedger())
	case "GET /transfer":
		write(c, w.bank.listTransfers(c.Query("status")))
	default:
		w.serveTransferPath(c, path)
	}
}

func (w *World) serveTransferPath(c *gin.Context, path string) {
	if c.Request.Method == http.MethodGet {
		if reference, found := strings.CutPrefix(path, "/transfer/verify/"); found {
			w.paystackCall(c, operationVerify, func(plan) reply { return w.verifyTransfer(reference) })
			return
		}
		if code, found := strings.CutPrefix(path, "/transfer/"); found {
			write(c, w.fetchTransfer(code))
			return
		}
	}
	write(c, paystackError(http.StatusNotFound, "not_found", "Invalid route"))
}

// paystackCall carries a call out under the faults of its operation.
func (w *World) paystackCall(c *gin.Context, operation string, effect func(p plan) reply) {
	p := w.faults.take(targetPaystack, operation)
	w.answer(c, p, paystackVoice(), func() reply { return effect(p) })
}

func paystackOK(message string, data any) reply {
	body := gin.H{"status": true, "message": message}
	if data != nil {
		body["data"] = data
	}
	return reply{status: http.StatusOK, body: body}
}

// paystackError is Paystack's error body.
func paystackError(status int, code, message string) reply {
	kind := "validation_error"
	if status >= http.StatusInternalServerError {
		kind = "api_error"
	}
	return reply{status: status, body: gin.H{
		"status": false, "message": message, "type": kind, "code": code,
		"meta": gin.H{"nextStep": "Ensure that the value(s) you're passing are valid"},
	}}
}

// paystackRefusal is Paystack's error with its own words for a code.
func paystackRefusal(code string) reply {
	switch code {
	case "duplicate_transfer_reference":
		return paystackError(http.StatusBadRequest, code, "Please provide a unique reference. Reference already exists on a transfer")
	case "invalid_transfer_recipient":
		return paystackError(http.StatusBadRequest, code, "Recipient specified is invalid")
	case "missing_params":
		return paystackError(http.StatusBadRequest, code, "Required parameters are missing")
	case "insufficient_balance":
		return paystackError(http.StatusBadRequest, code, "Your balance is not enough to fulfill this request")
	case "transfer_unavailable":
		return paystackError(http.StatusBadRequest, code, "You cannot initiate third party payouts as a starter business")
	case "invalid_account_number", "invalid_bank_code", "account_not_found":
		return paystackError(http.StatusUnprocessableEntity, code, "Could not resolve account name. Check parameters or try again.")
	case "not_found", "transfer_not_found":
		return paystackError(http.StatusNotFound, code, "Transfer not found")
	case "invalid_Key", "unauthorized":
		return paystackError(http.StatusUnauthorized, code, "Invalid key")
	}
	return paystackError(http.StatusBadRequest, code, "Request could not be completed: "+code)
}

// paystackVoice is how Paystack says what goes wrong.
func paystackVoice() voice {
	limited := paystackError(http.StatusTooManyRequests, "rate_limited", "Too many requests")
	limited.retryAfter = 1
	return voice{
		broken:  paystackError(http.StatusInternalServerError, "unknown", "An unexpected error occurred"),
		limited: limited,
		refuse:  paystackRefusal,
		lie:     paystackLie,
	}
}

// paystackLie changes what an answer says of a transfer; the transfer itself is as it is.
func paystackLie(r reply, p plan) any {
	body, ok := r.body.(gin.H)
	if !ok {
		return r.body
	}
	data, ok := body["data"].(gin.H)
	if !ok {
		return r.body
	}
	switch p.kind {
	case faultWrongAmount:
		if amount, ok := data["amount"].(int64); ok {
			data["amount"] = amount + 100
		}
	case faultWrongRef:
		if reference, ok := data["reference"].(string); ok {
			data["reference"] = "other-" + reference
		}
	case faultStatus:
		data["status"] = p.arg
	}
	return body
}
