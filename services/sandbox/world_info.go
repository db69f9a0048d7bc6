package sandbox

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // RFC 6238 as authenticator apps implement it
	_ "embed"     // world.schema.json
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

//go:embed world.schema.json
var worldSchema []byte

func (w *World) getSchema(c *gin.Context) {
	c.Data(http.StatusOK, "application/schema+json", worldSchema)
}

// faultLever is the request of POST /world/faults. Times is 1 when left out, −1 for ever.
type faultLever struct {
	Target    string `json:"target"`
	Operation string `json:"operation"`
	Kind      string `json:"kind"`
	Times     *int   `json:"times"`
	DelayMS   int    `json:"delay_ms"`
}

func (w *World) postFault(_ *gin.Context, in faultLever) (any, error) {
	f := fault{Target: in.Target, Operation: orString(in.Operation, anyOperation), Kind: in.Kind, Times: 1, DelayMS: in.DelayMS}
	if in.Times != nil {
		f.Times = *in.Times
	}
	if f.Times == 0 || f.Times < timesForEver || f.DelayMS < 0 || f.DelayMS > 600_000 {
		return nil, invalid("fault_invalid", "times must be −1 or at least 1, delay_ms 0 to 600000")
	}
	if err := f.check(w.chainNames()); err != nil {
		return nil, invalid("fault_invalid", "%v", err)
	}
	f.ID = "fault_" + w.mint.hex("fault", 12)
	w.faults.set(f)
	w.hub.tell(event{Kind: "fault", ID: f.ID, Text: f.Target + " " + f.Operation + " " + f.Kind})
	return f, nil
}

func (w *World) listFaults(c *gin.Context) { c.JSON(http.StatusOK, listOf(w.faults.list())) }

func (w *World) deleteFaults(c *gin.Context) {
	removed := w.faults.clear()
	w.hub.tell(event{Kind: "fault", Text: "cleared"})
	c.JSON(http.StatusOK, gin.H{"removed": removed})
}

// getState counts everything; faults is how many are still set.
func (w *World) getState(c *gin.Context) {
	persons, in, out := w.people.counts()
	transfers, _ := w.bank.all()
	paid := 0
	for _, t := range transfers {
		if t.status == statusSuccess {
			paid++
		}
	}
	chains := gin.H{}
	for name, chain := range w.chains {
		height, moved := chain.counts()
		chains[name] = gin.H{"height": height, "transfers": moved}
	}
	c.JSON(http.StatusOK, gin.H{
		"people": persons, "messages_in": in, "messages_out": out, "transfers": len(transfers), "transfers_paid": paid,
		"chains": chains, "faults": len(w.faults.list()),
		"webhooks": w.delivered.Load(), "webhooks_failed": w.undelivered.Load(),
	})
}

// getInfo says what a newcomer needs: addresses, the operator's login with the present code, what to try.
func (w *World) getInfo(c *gin.Context) {
	chains := []gin.H{}
	for _, name := range w.chainNames() {
		cfg := w.chains[name].cfg
		chains = append(chains, gin.H{"name": name, "id": cfg.ID, "rpc": w.cfg.BaseURL + "/rpc/" + name, "tokens": cfg.Tokens})
	}
	operator, err := w.login(w.cfg.Operator)
	if err != nil {
		w.respond(c, nil, err)
		return
	}
	approver, err := w.login(DefaultApprover())
	if err != nil {
		w.respond(c, nil, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{
		"base_url": w.cfg.BaseURL, "bot_url": w.cfg.BotURL, "admin_url": w.cfg.BotURL + "/admin/",
		"phone_number": DisplayPhoneNumber, "phone_number_id": PhoneNumberID, "business_account_id": BusinessAccountID,
		"graph_url": w.cfg.BaseURL + "/graph", "paystack_url": w.cfg.BaseURL + "/paystack", "schema_url": w.cfg.BaseURL + "/world/schema",
		"chains": chains, "flows": w.flows.names(),
		"operator": operator, "approver": approver,
		"how_to": []string{
			"Type hi in a phone and follow the bot: it opens a Flow to sign up and another to sell.",
			"When it shows a deposit address, send tokens to it in the chain panel, then mine blocks.",
			"Settle the payout in the bank panel, or let it be paid by itself after some seconds.",
			"Set a fault and do it again: no sale may ever pay twice, no deposit may be lost.",
		},
	})
}

// login is somebody's login with the code that works now.
func (w *World) login(who Operator) (gin.H, error) {
	code, err := totpCode(who.TOTP, w.cfg.Now())
	return gin.H{"email": who.Email, "password": who.Password, "totp_secret": who.TOTP, "totp_code": code}, err
}

// totpCode is the six-digit code of a base-32 secret at a time (RFC 6238, SHA-1, 30 s), "" without a secret.
func totpCode(secret string, at time.Time) (string, error) {
	if secret == "" {
		return "", nil
	}
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		return "", fmt.Errorf("read the operator's TOTP secret: %w", err)
	}
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/30)))
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[offset:])&0x7fffffff)%1_000_000), nil
}

// longestPoll bounds a long poll of /world/events.
const longestPoll = 25 * time.Second

// getEvents tells what happened after a sequence number: as server-sent events when the caller asks for a stream, else
// one long poll that answers {items, next}, next being the number to ask with the next time.
func (w *World) getEvents(c *gin.Context) {
	after, err := strconv.ParseInt(orString(c.GetHeader("Last-Event-ID"), orString(c.Query("after"), "0")), 10, 64)
	if err != nil {
		w.respond(c, nil, invalid("after_invalid", "after must be a number"))
		return
	}
	if c.GetHeader("Accept") == "text/event-stream" {
		w.stream(c, after)
		return
	}
	ctx, cancel := context.WithTimeoutCause(c.Request.Context(), longestPoll, errNothingNew)
	defer cancel()
	events, last := w.hub.wait(ctx, w.closing, after)
	answer := listOf(events)
	answer.Next = strconv.FormatInt(last, 10)
	c.JSON(http.StatusOK, answer)
}

// stream writes events until the caller leaves or the world ends.
func (w *World) stream(c *gin.Context, after int64) {
	c.Header("Content-Type", "text/event-stream")
	c.Header("Cache-Control", "no-cache")
	c.Status(http.StatusOK)
	c.Writer.Flush()
	for {
		events, _ := w.hub.wait(c.Request.Context(), w.closing, after)
		if len(events) == 0 {
			return
		}
		for _, e := range events {
			body, err := json.Marshal(e)
			if err != nil {
				return
			}
			if _, err := fmt.Fprintf(c.Writer, "id: %d\ndata: %s\n\n", e.Seq, body); err != nil {
				return
			}
			after = e.Seq
		}
		c.Writer.Flush()
	}
}
