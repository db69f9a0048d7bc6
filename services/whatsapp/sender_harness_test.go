package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

// twice runs every fn of an Update once in vain before it counts, which is what a conflict does.
type twice struct {
	store.Engine
	failNext int // this many Updates fail before anything is done
}

var errInVain = errors.New("in vain")

func (e *twice) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	if e.failNext > 0 {
		e.failNext--
		return store.ErrUnavailable
	}
	err := e.Engine.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return errInVain
	})
	if !errors.Is(err, errInVain) {
		return err
	}
	return e.Engine.Update(ctx, fn)
}

// fakeMeta is a Messenger with a scripted answer.
type fakeMeta struct {
	mu         sync.Mutex
	sent       []Outgoing
	uploads    int
	sendFunc   func(m Outgoing) (SendResult, error)
	uploadFunc func() (string, error)
}

func (f *fakeMeta) Send(_ context.Context, m Outgoing) (SendResult, error) {
	f.mu.Lock()
	f.sent = append(f.sent, m)
	n := len(f.sent)
	f.mu.Unlock()
	if _, err := m.payload(); err != nil {
		return SendResult{}, err
	}
	if f.sendFunc != nil {
		return f.sendFunc(m)
	}
	return SendResult{Wamid: "wamid.S" + strconv.Itoa(n), WaID: m.To.Phone}, nil
}

func (f *fakeMeta) UploadMedia(context.Context, string, string, []byte) (string, error) {
	f.uploads++
	if f.uploadFunc != nil {
		return f.uploadFunc()
	}
	return "media" + strconv.Itoa(f.uploads), nil
}

func (*fakeMeta) Timeout() time.Duration { return 10 * time.Second }

type fakeTexts map[string]string

func (f fakeTexts) Has(key string) bool { _, ok := f[key]; return ok }

func (f fakeTexts) Render(language, key string, args map[string]string) string {
	return language + ":" + f[key] + args["reference"]
}

type fakeTokens struct{}

func (fakeTokens) Token(session string) string { return "token-of-" + session }

type fakePictures struct{ err error }

func (f *fakePictures) Render(context.Context, string, string) ([]byte, string, error) {
	return []byte("png"), "image/png", f.err
}

// records keeps alerts and fallbacks as documents, so that an aborted transaction leaves none.
type records struct{}

func (records) Alert(tx store.Tx, kind, why string, data map[string]string) error {
	return tx.Insert(store.Settings, &record{
		Meta: store.Meta{ID: fmt.Sprintf("alert|%s|%s|%s|%s", kind, data["operation"], data["code"], why), Version: 1},
	})
}

func (records) FlowRefused(tx store.Tx, op *operation.Operation, code int) error {
	return tx.Insert(store.Settings, &record{Meta: store.Meta{ID: fmt.Sprintf("fallback|%s|%d", op.ID, code), Version: 1}})
}

type record struct {
	store.Meta `bson:",inline"`
}

type fakePacer struct {
	waitFunc func(scope, id string) time.Duration
}

func (f *fakePacer) Take(_ context.Context, scope, id string, _ Pace) time.Duration {
	if f.waitFunc == nil {
		return 0
	}
	return f.waitFunc(scope, id)
}

// harness is a sender on a real embedded engine with a clock that moves when told.
type harness struct {
	t        *testing.T
	engine   *twice
	clock    *testkit.Clock
	meta     *fakeMeta
	pacer    *fakePacer
	pictures *fakePictures
	sender   *Sender
	left     time.Duration
	owners   int
}

// senderIndexes are those of what the sender reads.
func senderIndexes() []store.Index {
	return append(append([]store.Index(nil), operation.Indexes...), user.Indexes...)
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	return newHarnessOn(t, testkit.Bolt(t, senderIndexes()))
}

func newHarnessOn(t *testing.T, engine store.Engine) *harness {
	t.Helper()
	h := &harness{
		t: t, engine: &twice{Engine: engine}, clock: testkit.Noon(), meta: &fakeMeta{},
		pacer: &fakePacer{}, pictures: &fakePictures{}, left: time.Minute,
	}
	sender, err := NewSender(h.deps(), SenderConfig{
		Flows:     map[string]FlowTarget{"offramp": {ID: "123456"}},
		Templates: map[string]TemplateForm{"sale_paid": {Args: []string{"reference", "net"}}},
	})
	require.NoError(t, err)
	h.sender = sender
	h.addUser("ada", "2348030000001", "NG.1")
	h.addUser("sam", "", "US.2")
	return h
}

func (h *harness) deps() Deps {
	return Deps{
		Engine: h.engine, Client: h.meta,
		Texts: fakeTexts{
			"order.paid": "paid ", "button.cancel": "Cancel", "flow.start": "start", "whatsapp.choose": "Choose",
		},
		Tokens: fakeTokens{}, Pictures: h.pictures, Alerts: records{}, Fallback: records{}, Pacer: h.pacer,
		Now: h.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
}

func (h *harness) update(fn func(tx store.Tx) error) {
	h.t.Helper()
	require.NoError(h.t, h.engine.Update(h.t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) }))
}

func (h *harness) addUser(id, phone, scoped string) {
	h.t.Helper()
	h.update(func(tx store.Tx) error {
		return tx.Insert(store.Users, &user.User{
			Meta: store.Meta{ID: id, Version: 1}, WhatsAppID: phone, ScopedID: scoped, Language: "en", Status: user.Active,
			LastInbound: h.clock.Now(), CreatedAt: h.clock.Now(),
		})
	})
}

// wrote moves the time of a person's last message to now, as the bot does.
func (h *harness) wrote(id string) (woken int) {
	h.t.Helper()
	h.update(func(tx store.Tx) error {
		var u user.User
		if err := tx.Get(store.Users, id, &u); err != nil {
			return err
		}
		u.LastInbound = h.clock.Now()
		if err := tx.Replace(store.Users, &u); err != nil {
			return err
		}
		var err error
		woken, err = Wake(tx, id, h.clock.Now())
		return err
	})
	return woken
}

// record stores a notify operation.
func (h *harness) record(id, person string, m operation.Message) {
	h.t.Helper()
	h.update(func(tx store.Tx) error {
		op := operation.New(operation.Notify, id, "o1", person, "user:"+person, h.clock.Now(), h.clock.Now())
		op.Message = &m
		_, err := operation.Record(tx, op)
		return err
	})
}

func text(s string) operation.Message { return operation.Message{Type: "text", Text: s} }

// step lets the worker take and handle one due operation; nil when none is due.
func (h *harness) step() (*operation.Operation, error) {
	h.t.Helper()
	h.owners++
	op, _, err := operation.Claimer{Kind: operation.Notify, Lease: 30 * time.Second, Ordered: true}.
		Next(h.t.Context(), h.engine, "worker"+strconv.Itoa(h.owners), h.clock.Now())
	require.NoError(h.t, err)
	if op == nil {
		return nil, nil
	}
	ctx := operation.WithLeft(h.t.Context(), func() time.Duration { return h.left })
	return op, h.sender.Handle(ctx, op, *op.Lease)
}

// run steps until nothing is due.
func (h *harness) run() {
	h.t.Helper()
	for range 50 {
		op, err := h.step()
		require.NoError(h.t, err)
		if op == nil {
			return
		}
	}
	h.t.Fatal("something is due for ever")
}

func (h *harness) op(id string) *operation.Operation {
	h.t.Helper()
	var op *operation.Operation
	require.NoError(h.t, h.engine.View(h.t.Context(), func(_ context.Context, r store.Reader) error {
		var err error
		op, err = operation.Load(r, id)
		return err
	}))
	return op
}

// records lists alerts and fallbacks.
func (h *harness) records() []string {
	h.t.Helper()
	var out []string
	require.NoError(h.t, h.engine.View(h.t.Context(), func(_ context.Context, r store.Reader) error {
		rows, err := store.All[record](r, store.Query{Collection: store.Settings, Index: "_id"})
		out = nil
		for _, row := range rows {
			out = append(out, row.ID)
		}
		return err
	}))
	return out
}

func (h *harness) apply(s Status) (StatusOutcome, error) {
	h.t.Helper()
	if rank, ok := Rank(s.Name); ok {
		s.Rank = rank
	}
	var outcome StatusOutcome
	err := h.engine.Update(h.t.Context(), func(_ context.Context, tx store.Tx) error {
		var err error
		_, outcome, err = h.sender.ApplyStatus(tx, s, h.clock.Now())
		return err
	})
	return outcome, err
}

func (h *harness) wantApplied(want StatusOutcome, s Status) {
	h.t.Helper()
	got, err := h.apply(s)
	require.NoError(h.t, err)
	require.Equal(h.t, want, got)
}

// dueIn is how long until an operation is due.
func (h *harness) dueIn(id string) time.Duration {
	h.t.Helper()
	op := h.op(id)
	require.NotNil(h.t, op.Due, "it is closed: %s %s", op.State, op.Reason)
	return op.Due.Sub(h.clock.Now())
}

func refuse(code int) func(Outgoing) (SendResult, error) {
	return func(Outgoing) (SendResult, error) {
		class := Classify(code)
		return SendResult{}, &Error{Class: class, Code: code, HTTP: 400, MaybeSent: AdviceFor(class).MaybeSent}
	}
}

func timeOut(Outgoing) (SendResult, error) { return SendResult{}, failed(context.DeadlineExceeded) }
