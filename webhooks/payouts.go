package webhooks

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"offrampbot/services/delivery"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/obs"
	"offrampbot/services/payout"
)

// acknowledgement is the answer of source article 002 (R86).
type acknowledgement struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	ReqCode string `json:"reqCode"`
}

// takePayoutCallback stores a provider's callback and acknowledges it. It decides nothing: a callback is a hint that a
// look-up is due (DESIGN §7.2, §8).
func (e *Edge) takePayoutCallback(c *gin.Context) error {
	provider, rail, err := e.rail(c)
	if err != nil {
		return err
	}
	body := rawBody(c)
	callback, err := rail.ParseWebhook(body, c.GetHeader)
	if fault.Is(err, "signature_invalid") {
		e.deps.Metrics.Delivery(string(delivery.Payout), "refused")
		return err
	}
	receipt := e.callbackReceipt(provider, callback, err, body)
	ctx := obs.With(obs.With(c.Request.Context(), obs.Provider, provider), obs.DeliveryID, receipt.ID)
	isNew, err := e.keep(ctx, []*delivery.Receipt{receipt})
	if err != nil {
		return err
	}
	if !isNew[0] {
		e.deps.Log.InfoContext(ctx, "Duplicate callback ignored.")
		if err := e.deps.Repeats.Repeated(ctx, receipt.ID); err != nil {
			e.deps.Log.WarnContext(ctx, "repeat not passed on", "error", err)
		}
	}
	writeJSON(c, http.StatusOK, acknowledgement{Code: "0", Message: "Success", ReqCode: receipt.ID})
	return nil
}

// callbackReceipt is the receipt of a callback. One with a part missing is parked under a digest of its bytes: missing
// parts must not make two callbacks the same (W19).
func (e *Edge) callbackReceipt(provider string, cb payout.Callback, unread error, body []byte) *delivery.Receipt {
	now := e.deps.Now()
	if unread != nil || cb.Event == "" || cb.Reference == "" || cb.Status == "" {
		why := "event, reference or status is missing"
		if unread != nil {
			why = "cannot be read"
		}
		r := e.parked(ids.ProviderDelivery(provider, "unreadable", e.deps.Digest(provider, string(body)), "parked"),
			delivery.Payout, why, body, now)
		r.Provider = provider
		return r
	}
	id := ids.ProviderDelivery(provider, cb.Event, cb.Reference, cb.Status)
	r := delivery.New(id, delivery.Payout, cb.Event, provider+":"+cb.Reference, e.deps.Digest(provider, string(body)),
		body, now, now)
	r.Provider, r.Reference = provider, cb.Reference
	return r
}

// approvePayout answers a provider's "may this transfer go out?": 200 lets it go, 400 stops it. Invariant: 200 only
// after a transaction that found the attempt current.
func (e *Edge) approvePayout(c *gin.Context) error {
	provider, rail, err := e.rail(c)
	if err != nil {
		return err
	}
	ctx := obs.With(c.Request.Context(), obs.Provider, provider)
	reference, amount, err := rail.ParseApproval(rawBody(c), c.GetHeader)
	if fault.Is(err, "signature_invalid") {
		return err
	}
	if err == nil {
		err = e.deps.Approver.ApprovePayout(ctx, provider, reference, amount)
		if err != nil && undecided(err) {
			return err
		}
	}
	if err != nil {
		e.deps.Log.WarnContext(ctx, "payout not approved", "reference", reference, "error", err)
		writeJSON(c, http.StatusBadRequest, gin.H{"status": "rejected"})
		return nil
	}
	e.deps.Log.InfoContext(ctx, "payout approved", "reference", reference)
	writeJSON(c, http.StatusOK, gin.H{"status": "approved"})
	return nil
}

// undecided reports whether an error says nothing about the payout: then the provider shall ask again.
func undecided(err error) bool {
	return slices.Contains([]fault.Kind{fault.Unavailable, fault.Unknown, fault.Internal}, classify(err).Kind)
}

// rail finds the provider of a path.
func (e *Edge) rail(c *gin.Context) (string, CallbackRail, error) {
	name := c.Param("provider")
	rail, ok := e.deps.Rails[name]
	if !ok {
		return "", nil, fault.New("route_unknown", nil)
	}
	return name, rail, nil
}
