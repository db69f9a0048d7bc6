package sandbox

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// sentMessage is what statuses need to know of a message that Meta accepted.
type sentMessage struct {
	wamid  string
	to     profile
	opaque string // biz_opaque_callback_data, echoed
}

// sendStatuses plans the statuses of an accepted message: sent, delivered, read, each a delay after the one before. A
// plan can make them never come, come twice, come first or say something else.
func (w *World) sendStatuses(ctx context.Context, m sentMessage, p plan) {
	names := []string{"sent", "delivered", "read"}
	if w.cfg.NoReadReceipts {
		names = names[:2]
	}
	if p.kind == faultStatus {
		names = []string{p.arg} // failed:<code> fails with that code
	}
	copies := 1
	switch p.webhook {
	case faultWebhookNever:
		return
	case faultWebhookTwice:
		copies = 2
	}
	for i, name := range names {
		parcel, err := w.metaParcel(whatsAppPath, webhook(w.statusValue(m, name)))
		if err != nil {
			w.cfg.Log.ErrorContext(ctx, "status not written", "error", err)
			return
		}
		if p.webhook == faultWebhookFirst && i == 0 {
			w.deliver(ctx, parcel, copies)
			w.showStatus(m.wamid, name)
			continue
		}
		delay := time.Duration(i+1) * w.cfg.StatusDelay
		for range copies {
			w.queue.add(delay, func(ctx context.Context) bool {
				w.showStatus(m.wamid, name)
				status := w.deliverOnce(ctx, parcel)
				return status == http.StatusOK
			})
		}
	}
}

// statusRank orders statuses, so that a delivery that was tried again does not move a bubble back.
func statusRank(name string) int {
	switch name {
	case "sent":
		return 1
	case "delivered":
		return 2
	case "read":
		return 3
	case "failed":
		return 4
	}
	return 0
}

func (w *World) showStatus(wamid, told string) {
	name, _, _ := strings.Cut(told, ":")
	changed := false
	key, _ := w.people.amend(wamid, func(m *chatMessage) {
		if statusRank(name) > statusRank(m.Status) {
			m.Status, changed = name, true
		}
	})
	if changed {
		w.hub.tell(event{Kind: "status", Phone: key, ID: wamid, Text: name})
	}
}

func (w *World) statusValue(m sentMessage, told string) map[string]any {
	name, code, _ := strings.Cut(told, ":")
	status := map[string]any{
		"id": m.wamid, "status": name, "timestamp": strconv.FormatInt(w.cfg.Now().Unix(), 10),
		"recipient_user_id": m.to.bsuid,
	}
	if m.to.phone != "" {
		status["recipient_id"] = m.to.phone
	}
	if m.opaque != "" {
		status["biz_opaque_callback_data"] = m.opaque
	}
	value := w.envelope()
	if name == "failed" {
		status["errors"] = []any{statusError(code)}
	} else {
		status["pricing"] = map[string]any{
			"billable": false, "pricing_model": "PMP", "type": "free_customer_service", "category": "service",
		}
		value["contacts"] = []any{m.to.contact()} // Meta leaves it out of failed ones
	}
	value["statuses"] = []any{status}
	return value
}

// statusError is the error of a failed message, undeliverable when no code is given.
func statusError(code string) map[string]any {
	n, err := strconv.Atoi(code)
	if err != nil {
		n = 131026
	}
	title := graphTitleOf(n).title
	return map[string]any{"code": n, "title": title, "message": title, "error_data": map[string]any{"details": title + "."}}
}
