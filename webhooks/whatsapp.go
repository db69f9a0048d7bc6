package webhooks

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"offrampbot/services/delivery"
	"offrampbot/services/fault"
	"offrampbot/services/whatsapp"
)

// verifyWhatsApp answers Meta's verification request with the challenge as it came.
func (e *Edge) verifyWhatsApp(c *gin.Context) error {
	challenge := c.Query("hub.challenge")
	given := []byte(c.Query("hub.verify_token"))
	right := subtle.ConstantTimeCompare(given, []byte(e.cfg.VerifyToken)) == 1
	if !right || c.Query("hub.mode") != "subscribe" || challenge == "" || len(challenge) > 256 {
		return fault.New("forbidden", nil)
	}
	c.Header("X-Content-Type-Options", "nosniff")
	c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(challenge))
	return nil
}

// takeWhatsApp stores every message, status and event of a signed webhook in one round trip and answers 200. Invariant:
// 200 comes only after the store has every element (P14, W16). What cannot be decoded is stored too, as parked: Meta
// would send the same bytes for a week, and nobody could ever look at them.
func (e *Edge) takeWhatsApp(c *gin.Context) error {
	body := rawBody(c)
	receipts := e.receipts(whatsapp.Decode(body, e.cfg.PhoneNumberID), body)
	if _, err := e.keep(c.Request.Context(), receipts); err != nil {
		return err
	}
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
	return nil
}

// receipts turns a decoded webhook into what is stored. A body without any element is kept as well.
func (e *Edge) receipts(batch whatsapp.Batch, body []byte) []*delivery.Receipt {
	now := e.deps.Now()
	var out []*delivery.Receipt
	for _, item := range batch.Items {
		sent := item.SentAt
		if sent.IsZero() {
			sent = now
		}
		r := delivery.New(item.Delivery, item.Source, item.Kind, e.partition(item.Partition),
			e.deps.Digest("whatsapp", string(item.Raw())), item.Body(), sent, now)
		if item.Foreign {
			setAside(r, delivery.Unhandled, "addressed to another number", now)
		}
		out = append(out, r)
	}
	for _, b := range batch.Broken {
		out = append(out, e.parked(b.Delivery, delivery.Message, b.Path+": "+b.Reason, b.Raw(), now))
	}
	if len(out) == 0 {
		out = append(out, e.parked("wa:empty:"+e.deps.Digest("empty", string(body)), delivery.Account, "holds no element", body, now))
	}
	return out
}

// partition hides whose receipts these are: the decoder's name of a partition holds a phone number.
func (e *Edge) partition(name string) string { return "wa:" + e.deps.Digest("partition", name) }

// parked is a receipt of something that could not be read.
func (e *Edge) parked(id string, source delivery.Source, why string, raw []byte, now time.Time) *delivery.Receipt {
	r := delivery.New(id, source, "unreadable", "unreadable", e.deps.Digest("unreadable", string(raw)), raw, now, now)
	setAside(r, delivery.Parked, why, now)
	return r
}

// setAside marks a receipt that no worker shall take by itself.
func setAside(r *delivery.Receipt, state delivery.State, why string, now time.Time) {
	r.State, r.Reason, r.Due, r.DoneAt = state, why, nil, &now
}

// keep stores receipts, counts them and says which are new. Every error is one that asks the sender to come again.
func (e *Edge) keep(ctx context.Context, receipts []*delivery.Receipt) ([]bool, error) {
	isNew, err := e.deps.Inbox.Store(ctx, receipts)
	if err == nil && len(isNew) != len(receipts) {
		err = fmt.Errorf("inbox answered for %d of %d receipts", len(isNew), len(receipts))
	}
	if err != nil {
		return nil, fault.New("store_unavailable", fmt.Errorf("store receipts: %w", err))
	}
	for i, r := range receipts {
		switch {
		case !isNew[i]:
			e.deps.Metrics.Delivery(string(r.Source), "duplicate")
		case r.State != delivery.Received:
			e.deps.Metrics.Delivery(string(r.Source), "parked")
			e.deps.Log.WarnContext(ctx, "delivery set aside", "delivery_id", r.ID, "state", string(r.State), "why", r.Reason)
		default:
			e.deps.Metrics.Delivery(string(r.Source), "new")
		}
	}
	return isNew, nil
}
