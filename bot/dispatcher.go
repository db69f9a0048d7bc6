package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"offrampbot/commands"
	"offrampbot/flows"
	"offrampbot/services/assets"
	"offrampbot/services/delivery"
	"offrampbot/services/ids"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/ratelimit"
	"offrampbot/services/session"
	"offrampbot/services/store"
	"offrampbot/services/texts"
	"offrampbot/services/user"
	"offrampbot/services/whatsapp"
)

// Orders is what the bot asks of the order service.
type Orders interface {
	Open(ctx context.Context, userID string) ([]*offramp.Order, error)
	History(ctx context.Context, userID string, limit int) ([]*offramp.Order, error)
	ByReference(ctx context.Context, userID, reference string) (*offramp.Order, error)
	Order(ctx context.Context, id string) (*offramp.Order, error)
	Cancel(ctx context.Context, userID, orderID, delivery string) (*offramp.Order, error)
	Cover(ctx context.Context, userID, asset string) (offramp.Cover, error)
}

// Drafts keeps what a user is typing; losing it loses nothing else.
type Drafts interface {
	Get(ctx context.Context, userDigest string) (session.Draft, bool)
	Put(ctx context.Context, userDigest string, d session.Draft) error
	Delete(ctx context.Context, userDigest string)
}

// Limiter bounds how often somebody may write.
type Limiter interface {
	Allow(ctx context.Context, scope, id string, limit ratelimit.Limit) (ok bool, retryAfter time.Duration)
}

// Deps is what a Dispatcher needs; all are required.
type Deps struct {
	Engine   store.Engine
	Users    *user.Service
	Orders   Orders
	Drafts   Drafts
	Limiter  Limiter
	Registry *assets.Registry
	Texts    *texts.Catalogue
	Tokens   *flows.Tokens
	Log      *slog.Logger
	Now      func() time.Time
	// LookupKey keys the seeds of flow sessions.
	LookupKey []byte
	PhoneID   string
}

// Config turns a Dispatcher.
type Config struct {
	SessionTTL time.Duration   // of a Flow; 30 minutes when zero
	Stale      time.Duration   // how old a message about money may be; 10 minutes when zero (P9)
	Messages   ratelimit.Limit // per user
}

// Dispatcher handles inbound messages, one at a time per user.
type Dispatcher struct {
	d   Deps
	cfg Config
}

// New returns a Dispatcher, or says what is missing.
func New(d Deps, cfg Config) (*Dispatcher, error) {
	for name, missing := range map[string]bool{
		"Engine": d.Engine == nil, "Users": d.Users == nil, "Orders": d.Orders == nil, "Drafts": d.Drafts == nil,
		"Limiter": d.Limiter == nil, "Registry": d.Registry == nil, "Texts": d.Texts == nil, "Tokens": d.Tokens == nil,
		"Log": d.Log == nil, "Now": d.Now == nil, "LookupKey": len(d.LookupKey) == 0, "PhoneID": d.PhoneID == "",
	} {
		if missing {
			return nil, errors.New("bot: " + name + " is missing")
		}
	}
	if cfg.SessionTTL == 0 {
		cfg.SessionTTL = 30 * time.Minute
	}
	if cfg.Stale == 0 {
		cfg.Stale = 10 * time.Minute
	}
	if cfg.Messages.Rate == 0 {
		cfg.Messages = ratelimit.Limit{Rate: 30, Burst: 30, Period: time.Minute}
	}
	return &Dispatcher{d: d, cfg: cfg}, nil
}

// turn is one message being answered. Topics add replies and what else the final transaction shall do.
type turn struct {
	*Dispatcher
	at      time.Time
	receipt *delivery.Receipt
	msg     *whatsapp.Message
	user    *user.User
	command commands.Command // what the text or caption says
	heard   heard
	draft   session.Draft
	replies []operation.Message
	commit  []func(tx store.Tx) error
	mask    bool // the stored message holds a secret and is emptied
}

// Handle answers one message. What it decides is committed together with the end of its receipt: a crash before that
// commit answers again from the start, a crash after it never does.
func (d *Dispatcher) Handle(ctx context.Context, r *delivery.Receipt, body []byte) error {
	item, err := whatsapp.DecodeBody(body, d.d.PhoneID)
	if err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	if item.Message == nil {
		return errors.New("read message: receipt holds none")
	}
	t := &turn{Dispatcher: d, at: d.d.Now().UTC().Truncate(time.Millisecond), receipt: r, msg: item.Message}
	t.read()
	if t.msg.Group != "" {
		return t.finish(ctx, "group message ignored")
	}
	if t.msg.System != nil {
		return t.moved(ctx)
	}
	if err := t.arrive(ctx); err != nil {
		return err
	}
	t.draft, _ = d.d.Drafts.Get(ctx, t.user.ID)
	t.hear(ctx)
	rule := Next(t.step(), t.heard.said)
	if err := t.do(ctx, rule.Do); err != nil {
		return err
	}
	if err := t.finish(ctx, string(rule.Do)); err != nil {
		return err
	}
	t.remember(ctx, rule.To)
	return nil
}

// arrive finds or makes the person.
func (t *turn) arrive(ctx context.Context) error {
	return t.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) (err error) {
		t.user, err = t.d.Users.Arrive(tx, t.msg.From, t.msg.ScopedID, t.msg.Name, t.msg.SentAt)
		if err != nil {
			return err
		}
		_, err = whatsapp.Wake(tx, t.user.ID, t.at) // the window is open: what waited for it may go
		return err
	})
}

// moved handles a change of number or identity: links move, money freezes, nobody is answered (F7).
func (t *turn) moved(ctx context.Context) error {
	c := t.msg.System
	err := t.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		_, err := t.d.Users.Moved(tx, user.Move{
			OldWhatsAppID: c.OldFrom, WhatsAppID: c.NewFrom, PreviousScopedID: c.OldScopedID, ScopedID: c.NewScopedID,
		})
		return err
	})
	if err != nil {
		return err
	}
	return t.finish(ctx, "identity change")
}

// step is where the conversation stands.
func (t *turn) step() Step {
	if t.user.Status == user.New {
		return Stranger
	}
	for _, s := range Steps()[1:] {
		if string(s) == string(t.draft.Step) {
			return s
		}
	}
	return Idle
}

// remember stores the step after the commit; losing it is harmless.
func (t *turn) remember(ctx context.Context, to Step) {
	t.draft.Topic, t.draft.Step, t.draft.UpdatedAt = "chat", session.Word(to), t.at
	if err := t.d.Drafts.Put(ctx, t.user.ID, t.draft); err != nil {
		t.d.Log.WarnContext(ctx, "chat draft not kept", "error", err.Error())
	}
}

// finish commits the replies and the end of the receipt in one transaction.
func (t *turn) finish(ctx context.Context, outcome string) error {
	return t.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		for _, do := range t.commit {
			if err := do(tx); err != nil {
				return err
			}
		}
		for i := range t.replies {
			id := fmt.Sprintf("reply:%s:%d", t.receipt.ID, i+1)
			op := operation.New(operation.Notify, id, "", t.user.ID, "user:"+t.user.ID, t.at, t.at)
			op.Message = &t.replies[i]
			if _, err := operation.Record(tx, op); err != nil {
				return err
			}
		}
		if err := t.tick(tx); err != nil {
			return err
		}
		r := *t.receipt
		if t.user != nil {
			r.User = t.user.ID
			if err := store.Relate(tx, ids.NormalID(t.msg.Wamid), "user", t.user.ID); err != nil {
				return err
			}
		}
		if t.mask {
			r.Body = nil
		}
		return delivery.Finish(tx, &r, outcome, t.at)
	})
}

// tick asks for the ticks under the message, when it is one that people see as read.
func (t *turn) tick(tx store.Tx) error {
	if t.user == nil || t.msg.Wamid == "" || t.at.Sub(t.msg.SentAt) > t.cfg.Stale {
		return nil
	}
	op := operation.New(operation.Read, "read:"+t.receipt.ID, "", t.user.ID, "read:"+t.user.ID, t.at, t.at)
	op.Reference = t.msg.Wamid
	_, err := operation.Record(tx, op)
	return err
}

// say adds a text reply.
func (t *turn) say(key string, args map[string]string) {
	t.replies = append(t.replies, operation.Message{Type: "text", Key: key, Args: args})
}

// ask adds a reply with buttons.
func (t *turn) ask(key string, args map[string]string, buttons ...operation.Button) {
	t.replies = append(t.replies, operation.Message{Type: "buttons", Key: key, Args: args, Buttons: buttons})
}

// text renders a text in the user's language.
func (t *turn) text(key string, args map[string]string) string {
	return t.d.Texts.Render(t.user.Language, key, args)
}

// form adds a Flow message whose session is created in the same commit. The seed derives from the delivery, so that an
// answer given again opens the same session.
func (t *turn) form(flow, key, cta string, args, values map[string]string) {
	seed := ids.Digest(t.d.LookupKey, "flow-session", t.receipt.ID, flow)
	t.commit = append(t.commit, func(tx store.Tx) error {
		return flows.CreateSession(tx, t.d.Tokens.Token(seed), flows.Session{
			User: t.user.ID, Flow: flow, FlowVersion: "1", PhoneNumberID: t.d.PhoneID, Values: values,
			CreatedAt: t.at, ExpiresAt: t.at.Add(t.cfg.SessionTTL),
		})
	})
	t.replies = append(t.replies, operation.Message{
		Type: "flow", Key: key, Args: args, Flow: &operation.Flow{Name: flow, Session: seed, CTA: cta},
	})
}
