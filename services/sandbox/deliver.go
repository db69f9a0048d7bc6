package sandbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Where the bot listens, below BotURL (DESIGN §13).
const (
	whatsAppPath = "/webhooks/whatsapp"
	flowsPath    = "/webhooks/flows"
	paystackPath = "/webhooks/payouts/paystack"
	approvalPath = "/webhooks/payouts/paystack/approval"
)

// maxAnswer bounds what is read of the bot's answers.
const maxAnswer = 8 << 20

// delivery is how one HTTP delivery to the bot went: its status, 0 without an answer, and how long it took.
type delivery struct {
	Status int   `json:"status"`
	MS     int64 `json:"ms"`
}

// parcel is one signed body on its way to the bot.
type parcel struct {
	path   string
	header string // name of the signature header
	sign   string // its value
	body   []byte
}

// metaParcel signs a webhook as Meta does: HMAC-SHA256 with the app secret over the raw bytes, which are ASCII with
// escapes (Meta: webhooks).
func (w *World) metaParcel(path string, value any) (parcel, error) {
	body, err := metaJSON(value)
	if err != nil {
		return parcel{}, err
	}
	return parcel{path: path, header: "X-Hub-Signature-256", sign: signSHA256(w.secrets.AppSecret, body), body: body}, nil
}

// paystackParcel signs a webhook as Paystack does: lower-case hex HMAC-SHA512 with the secret key over the raw bytes.
func (w *World) paystackParcel(path string, value any) (parcel, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return parcel{}, fmt.Errorf("write a webhook: %w", err)
	}
	return parcel{path: path, header: "X-Paystack-Signature", sign: signSHA512(w.secrets.PaystackSecret, body), body: body}, nil
}

func signSHA256(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func signSHA512(secret string, body []byte) string {
	mac := hmac.New(sha512.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// metaJSON writes JSON as Meta puts it on the wire: ASCII only, \u escapes with surrogate pairs, and \/ for a slash.
func metaJSON(value any) ([]byte, error) {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("write a webhook: %w", err)
	}
	in := bytes.TrimSuffix(plain.Bytes(), []byte("\n"))
	out := make([]byte, 0, len(in)+len(in)/4)
	for len(in) > 0 {
		r, size := utf8.DecodeRune(in)
		switch {
		case r == '/': // a slash stands only inside strings
			out = append(out, '\\', '/')
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		in = in[size:]
	}
	return out, nil
}

// deliverOnce delivers a webhook once, counts how it went and returns the answer's status, 0 when there was none.
func (w *World) deliverOnce(ctx context.Context, p parcel) int {
	status, _ := w.post(ctx, p)
	if status == http.StatusOK {
		w.delivered.Add(1)
	} else {
		w.undelivered.Add(1)
	}
	return status
}

// post delivers a parcel once and returns the answer's status, 0 when there was none, and its body.
func (w *World) post(ctx context.Context, p parcel) (int, []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.cfg.BotURL+p.path, bytes.NewReader(p.body))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(p.header, p.sign)
	res, err := w.cfg.Client.Do(req)
	if err != nil {
		w.cfg.Log.DebugContext(ctx, "webhook not delivered", "path", p.path, "error", err)
		return 0, nil
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return 0, nil // an answer that broke off is no answer
	}
	return res.StatusCode, body
}

// deliver posts copies of a parcel at the same time and reports each; one that was not answered 200 is tried again by
// the queue, as Meta and Paystack do for days.
func (w *World) deliver(ctx context.Context, p parcel, copies int) []delivery {
	deliveries := make([]delivery, copies)
	var all sync.WaitGroup
	for i := range copies {
		all.Go(func() {
			start := w.cfg.Now()
			status := w.deliverOnce(ctx, p)
			deliveries[i] = delivery{Status: status, MS: w.cfg.Now().Sub(start).Milliseconds()}
		})
	}
	all.Wait()
	for _, d := range deliveries {
		if d.Status != http.StatusOK {
			w.retry(p)
		}
	}
	return deliveries
}

// retry keeps delivering a parcel until it is answered 200.
func (w *World) retry(p parcel) { w.later(w.cfg.RetryBase, p) }

// later delivers a parcel after a delay, and again until it is answered 200.
func (w *World) later(delay time.Duration, p parcel) {
	w.queue.add(delay, func(ctx context.Context) bool {
		return w.deliverOnce(ctx, p) == http.StatusOK
	})
}
