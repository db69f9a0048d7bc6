package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// Deps are what a Sender needs; all are required.
type Deps struct {
	Engine   store.Engine
	Client   Messenger
	Texts    Texts
	Tokens   Tokens
	Pictures Pictures
	Alerts   Alerts
	Fallback Fallback
	Pacer    Pacer
	Now      func() time.Time
	Log      *slog.Logger
}

// SenderConfig tunes a Sender; zero fields take the defaults.
type SenderConfig struct {
	StoreTimeout time.Duration // deadline of a store call, 5 s
	Grace        time.Duration // how long a status is waited for before a send of unknown outcome is repeated, 45 s
	MaxSends     int           // sends of one message at most when none is ever answered, 6
	Pause        time.Duration // of the breaker, 5 min
	WindowPoll   time.Duration // how often a message that waits for the window is looked at, 1 h
	GiveUp       time.Duration // age at which a message that cannot go is parked, 72 h
	Pair, Number Pace          // 10 per minute with a burst of 40; 80 per second
	Flows        map[string]FlowTarget
	Templates    map[string]TemplateForm
	// TemplateLanguages maps our language codes to those the templates are approved in; others are used as they are.
	TemplateLanguages map[string]string
}

// FlowTarget is where a Flow's name leads: an id, or the published Flow of a name. An empty target is the Flow of the
// same name.
type FlowTarget struct {
	ID    string
	Name  string
	Draft bool
}

// TemplateForm says which arguments fill a template's body, in order. A template without a form has one parameter: the
// whole text on one line.
type TemplateForm struct{ Args []string }

func (c SenderConfig) withDefaults() SenderConfig {
	if c.StoreTimeout == 0 {
		c.StoreTimeout = 5 * time.Second
	}
	if c.Grace == 0 {
		c.Grace = 45 * time.Second
	}
	if c.MaxSends == 0 {
		c.MaxSends = 6
	}
	if c.Pause == 0 {
		c.Pause = 5 * time.Minute
	}
	if c.WindowPoll == 0 {
		c.WindowPoll = time.Hour
	}
	if c.GiveUp == 0 {
		c.GiveUp = 72 * time.Hour
	}
	if c.Pair == (Pace{}) {
		c.Pair = Pace{Rate: 10, Period: time.Minute, Burst: 40}
	}
	if c.Number == (Pace{}) {
		c.Number = Pace{Rate: 80, Period: time.Second, Burst: 80}
	}
	return c
}

func (c SenderConfig) validate() error {
	if c.StoreTimeout < 0 || c.Grace < 0 || c.Pause < 0 || c.WindowPoll < 0 || c.GiveUp < 0 || c.MaxSends < 1 {
		return errors.New("whatsapp sender: times and MaxSends must be positive")
	}
	return nil
}

// Sender carries out notify operations: it is their handler in the outbox, and it applies the statuses that come back.
type Sender struct {
	Deps
	cfg  SenderConfig
	gate *gate
}

// NewSender makes a Sender, or names what is missing.
func NewSender(deps Deps, cfg SenderConfig) (*Sender, error) {
	for name, missing := range map[string]bool{
		"Engine": deps.Engine == nil, "Client": deps.Client == nil, "Texts": deps.Texts == nil,
		"Tokens": deps.Tokens == nil, "Pictures": deps.Pictures == nil, "Alerts": deps.Alerts == nil,
		"Fallback": deps.Fallback == nil, "Pacer": deps.Pacer == nil, "Now": deps.Now == nil, "Log": deps.Log == nil,
	} {
		if missing {
			return nil, fmt.Errorf("whatsapp sender: %s is required", name)
		}
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Sender{Deps: deps, cfg: cfg, gate: newGate(cfg.Pause)}, nil
}

// Outcomes of a notify operation, and what an open one waits for.
const (
	OutcomeSent        = "sent"
	OutcomeFlowRefused = "flow_refused" // replaced by chat steps
	waitsForWindow     = "waits_for_window"
	windowRefused      = "window_refused" // the next send must be the template
	mediaRetried       = "media_retried"
)

// window is how long a person's message lets us write freely, less a minute for clocks.
const window = 24*time.Hour - time.Minute

// Handle sends the message of one notify operation under its lease and commits what became of it. It returns nil when
// the operation was moved on, be that done, parked or due later, and an error when nothing could be committed or
// prepared: then the operation stays as it is and the worker tries again.
//
// Invariant: a message that may have gone out is not sent again before its status had time to come.
func (s *Sender) Handle(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
	h := &handling{Sender: s, op: op, lease: lease}
	if op.Kind != operation.Notify || op.Message == nil {
		return h.park(ctx, "not a message", nil)
	}
	if op.State == operation.Called {
		if moved, err := h.resume(ctx); moved || err != nil {
			return err
		}
	}
	if wait := s.gate.wait(op.User, s.Now()); wait > 0 {
		return h.postpone(ctx, spread(wait, op.ID), "waits for WhatsApp")
	}
	found, err := h.stand(ctx)
	if err != nil {
		return err
	}
	switch {
	case found.stopped():
		return h.postpone(ctx, spread(stoppedPoll, op.ID), "sending is switched off")
	case found.age(op.CreatedAt, s.Now()) > s.cfg.GiveUp:
		return h.park(ctx, "too old to be sent", nil)
	case found.person == nil:
		return h.park(ctx, "user is not known", nil)
	case found.formOff(op.Message):
		return h.withoutForm(ctx)
	}
	message, err := h.compose(found.person)
	switch {
	case errors.Is(err, errWindowClosed):
		return h.waitForWindow(ctx)
	case err != nil:
		return h.park(ctx, err.Error(), h.alert(AlertMessage, 0))
	}
	return h.send(ctx, message)
}

// handling is one operation in hand.
type handling struct {
	*Sender
	op    *operation.Operation
	lease operation.Lease
}

// resume decides about an operation whose call was started and never answered. moved means that it is dealt with; else
// it is sent again.
func (h *handling) resume(ctx context.Context) (moved bool, err error) {
	if rank, ok := Rank(h.op.Status); ok && (rank > 0 || h.op.Wamid != "") {
		return true, h.settle(ctx, func(tx store.Tx, op *operation.Operation, now time.Time) error {
			return operation.Finish(tx, op, OutcomeSent, now)
		})
	}
	if h.op.LastCall != nil {
		if wait := h.op.LastCall.Add(h.grace(h.op.Calls)).Sub(h.Now()); wait > 0 {
			return true, h.postpone(ctx, wait, "waits for a status")
		}
	}
	if h.op.Calls >= h.cfg.MaxSends {
		return true, h.park(ctx, "nobody knows whether it was sent", h.alert(AlertUndecided, 0))
	}
	h.Log.WarnContext(ctx, "message sent again without an answer to the send before", "calls", h.op.Calls)
	return false, nil
}

// grace is how long the status of the n-th send is waited for: 45 s, 90 s, … at most ten minutes.
func (h *handling) grace(calls int) time.Duration {
	return min(h.cfg.Grace<<min(max(calls-1, 0), 6), max(h.cfg.Grace, 10*time.Minute))
}

// send paces, uploads, marks the call, calls, and commits the outcome.
func (h *handling) send(ctx context.Context, message Outgoing) error {
	if wait := h.pace(ctx); wait > 0 {
		return h.postpone(ctx, wait, "keeps the pace")
	}
	if message.Type == TypeImage {
		id, err := h.upload(ctx)
		if apiErr := (&Error{}); errors.As(err, &apiErr) {
			// An upload has no effect on anybody; whatever became of it, the message was not sent.
			certain := *apiErr
			certain.MaybeSent = false
			return h.refused(ctx, &certain)
		}
		if err != nil {
			return err
		}
		message.MediaID = id
	}
	if operation.Left(ctx) < h.Client.Timeout()+h.cfg.StoreTimeout {
		return h.postpone(ctx, 0, "lease is too short for a call")
	}
	if err := h.settle(ctx, operation.MarkCalling); err != nil {
		return err
	}
	result, err := h.Client.Send(ctx, message)
	if err == nil {
		h.gate.passed(h.op.User)
		return h.sent(ctx, result)
	}
	if errors.Is(err, ErrOutgoing) {
		return h.park(ctx, err.Error(), h.alert(AlertMessage, 0))
	}
	if apiErr := (&Error{}); errors.As(err, &apiErr) {
		return h.refused(ctx, apiErr)
	}
	return fmt.Errorf("send %s: %w", h.op.ID, err)
}

// pace takes one send from the number's and the person's pace. The id is our own user id: keys hold no personal data.
func (h *handling) pace(ctx context.Context) time.Duration {
	if wait := h.Pacer.Take(ctx, "whatsapp_pair", h.op.User, h.cfg.Pair); wait > 0 {
		return wait
	}
	return h.Pacer.Take(ctx, "whatsapp_number", "all", h.cfg.Number)
}

func (h *handling) upload(ctx context.Context) (id string, err error) {
	image := h.op.Message.Image
	content, mime, err := h.Pictures.Render(ctx, image.Kind, image.Value)
	if err != nil {
		return "", fmt.Errorf("draw picture of %s: %w", h.op.ID, err)
	}
	return h.Client.UploadMedia(ctx, image.Kind+".png", mime, content)
}
