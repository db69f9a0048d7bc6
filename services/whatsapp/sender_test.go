package whatsapp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/operation"
	"offrampbot/services/outside"
	"offrampbot/services/store"
)

func TestSender_sendsAndStoresTheMessageID(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.record("notify:o1:1", "ada", operation.Message{
		Type: "buttons", Key: "order.paid", Args: map[string]string{"reference": "7F2"}, ReplyTo: "wamid.IN",
		Buttons: []operation.Button{{ID: "cancel:o1", Title: "button.cancel"}, {ID: "x", Title: "Plain"}},
	})
	h.run()
	require.Equal(t, []Outgoing{{
		To: Recipient{Phone: "2348030000001", ScopedID: "NG.1"}, Type: TypeButtons, Body: "en:paid 7F2", ReplyTo: "wamid.IN",
		Buttons:      []OutgoingButton{{"cancel:o1", "en:Cancel7F2"}, {"x", "Plain"}},
		CallbackData: "notify:o1:1",
	}}, h.meta.sent)
	op := h.op("notify:o1:1")
	require.Equal(t, operation.Done, op.State)
	require.Equal(t, OutcomeSent, op.Outcome)
	require.Equal(t, "wamid.S1", op.Wamid)
	require.Equal(t, StatusAccepted, op.Status)
	require.Equal(t, 1, op.Calls)
	h.wantApplied(StatusApplied, Status{Wamid: "wamid.S1", Name: StatusDelivered})
	h.wantApplied(StatusNotNewer, Status{Wamid: "wamid.S1", Name: StatusDelivered})
	h.wantApplied(StatusNotNewer, Status{Wamid: "wamid.S1", Name: "deleted"})
}

func TestSender_aPersonWithoutANumberIsReachedByScopedID(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.record("n1", "sam", text("hi"))
	h.run()
	p, err := h.meta.sent[0].payload()
	require.NoError(t, err)
	require.Empty(t, p.To)
	require.Equal(t, "US.2", p.Recipient)
}

func TestSender_anUnknownOutcomeWaitsForItsStatus(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = timeOut
	h.record("n1", "ada", text("paid"))
	h.record("n2", "ada", text("next"))
	h.run()
	require.Len(t, h.meta.sent, 1, "the second message keeps its place behind the first")
	require.Equal(t, operation.Called, h.op("n1").State)
	require.Equal(t, 45*time.Second, h.dueIn("n1"))

	h.wantApplied(StatusApplied, Status{Wamid: "wamid.X", Name: StatusSent, CallbackData: "n1"})
	op := h.op("n1")
	require.Equal(t, operation.Done, op.State)
	require.Equal(t, "wamid.X", op.Wamid)
	h.meta.sendFunc = nil
	h.clock.Advance(time.Hour)
	h.run()
	require.Len(t, h.meta.sent, 2)
	require.Equal(t, "next", h.meta.sent[1].Body)
	h.wantApplied(StatusApplied, Status{Wamid: "wamid.X", Name: StatusRead})
}

func TestSender_withoutAStatusItIsSentAgainAfterTheGraceAndNotForEver(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = timeOut
	h.record("n1", "ada", text("paid"))
	for calls, grace := range []time.Duration{45, 90, 180, 360, 600, 600} {
		h.run()
		require.Len(t, h.meta.sent, calls+1)
		require.Equal(t, grace*time.Second, h.dueIn("n1"))
		h.clock.Advance(grace*time.Second - time.Millisecond)
		h.run()
		require.Len(t, h.meta.sent, calls+1, "not before the grace is over")
		h.clock.Advance(time.Millisecond)
	}
	h.run()
	require.Len(t, h.meta.sent, 6)
	require.Equal(t, operation.Parked, h.op("n1").State)
	require.Len(t, h.records(), 1)
	require.Contains(t, h.records()[0], AlertUndecided)
	h.wantApplied(StatusApplied, Status{Wamid: "wamid.X", Name: StatusDelivered, CallbackData: "n1"})
	require.Equal(t, operation.Done, h.op("n1").State)
}

func TestSender_aStatusFasterThanTheReplyIsKept(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = func(Outgoing) (SendResult, error) {
		h.wantApplied(StatusApplied, Status{Wamid: "wamid.Y", Name: StatusRead, CallbackData: "n1"})
		h.wantApplied(StatusNotNewer, Status{Wamid: "wamid.Y", Name: StatusSent})
		return SendResult{Wamid: "wamid.Y"}, nil
	}
	h.record("n1", "ada", text("hi"))
	h.run()
	op := h.op("n1")
	require.Equal(t, operation.Done, op.State)
	require.Equal(t, "wamid.Y", op.Wamid)
	require.Equal(t, StatusRead, op.Status)
}

func TestSender_aFailureFasterThanTheReplyIsNotOverwritten(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = func(Outgoing) (SendResult, error) {
		h.wantApplied(StatusFailure, Status{Wamid: "wamid.Y", Name: StatusFailed, CallbackData: "n1", Errors: []APIError{{Code: 131026}}})
		return SendResult{Wamid: "wamid.Y"}, nil
	}
	h.record("n1", "ada", text("hi"))
	h.run()
	require.Equal(t, operation.Parked, h.op("n1").State)
	require.Len(t, h.meta.sent, 1)
}

func TestSender_aStatusWithoutCallbackDataBeforeTheReplyIsTriedAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = func(Outgoing) (SendResult, error) {
		_, err := h.apply(Status{Wamid: "wamid.Y", Name: StatusSent})
		require.ErrorIs(t, err, ErrNoSuchMessage)
		return SendResult{Wamid: "wamid.Y"}, nil
	}
	h.record("n1", "ada", text("hi"))
	h.run()
	h.wantApplied(StatusApplied, Status{Wamid: "wamid.Y", Name: StatusSent})
}

func TestSender_aStoreThatIsDownAfterTheSendDoesNotSendTwice(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = func(Outgoing) (SendResult, error) {
		h.engine.failNext = 1
		return SendResult{Wamid: "wamid.Y"}, nil
	}
	h.record("n1", "ada", text("hi"))
	_, err := h.step()
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Equal(t, operation.Called, h.op("n1").State)
	h.clock.Advance(33 * time.Second) // the lease is over
	h.run()
	require.Len(t, h.meta.sent, 1, "it waits for the status first")
	h.wantApplied(StatusApplied, Status{Wamid: "wamid.Y", Name: StatusSent, CallbackData: "n1"})
	h.clock.Advance(time.Hour)
	h.run()
	require.Len(t, h.meta.sent, 1)
}

func TestSender_outsideTheWindow(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.clock.Advance(window)
	paid := operation.Message{
		Type: "text", Key: "order.paid", Args: map[string]string{"reference": "7F2", "net": "₦5,000"}, Template: "sale_paid",
	}
	h.record("n1", "ada", text("no template"))
	h.record("n2", "ada", paid)
	other := paid
	other.Template = "without_a_form"
	h.record("n3", "ada", other)
	h.run()
	require.Len(t, h.meta.sent, 2)
	require.Equal(t, &OutgoingTemplate{Name: "sale_paid", Language: "en", Params: []string{"7F2", "₦5,000"}}, h.meta.sent[0].Template)
	require.Equal(t, TypeTemplate, h.meta.sent[0].Type)
	require.Equal(t, []string{"en:paid 7F2"}, h.meta.sent[1].Template.Params)
	require.Equal(t, operation.Pending, h.op("n1").State)
	require.Equal(t, time.Hour, h.dueIn("n1"))

	h.clock.Advance(time.Minute)
	require.Equal(t, 1, h.wrote("ada"))
	h.run()
	require.Len(t, h.meta.sent, 3)
	require.Equal(t, "no template", h.meta.sent[2].Body)
}

func TestSender_aMessageThatNobodyEverAllowsIsParked(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.clock.Advance(window)
	h.record("n1", "ada", text("hi"))
	for range 80 {
		h.run()
		h.clock.Advance(time.Hour)
	}
	require.Equal(t, operation.Parked, h.op("n1").State)
	require.Empty(t, h.meta.sent)
}

func TestSender_refusedAsOutsideTheWindowBecomesTheTemplate(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = func(m Outgoing) (SendResult, error) {
		if m.Type != TypeTemplate {
			return refuse(131047)(m)
		}
		return SendResult{Wamid: "wamid.T"}, nil
	}
	h.record("n1", "ada", operation.Message{Type: "text", Key: "order.paid", Template: "sale_paid"})
	h.record("n2", "ada", text("hi"))
	h.clock.Advance(time.Second)
	h.run()
	require.Equal(t, operation.Done, h.op("n1").State)
	require.Equal(t, "wamid.T", h.op("n1").Wamid)
	require.Equal(t, operation.Pending, h.op("n2").State, "it has no template and waits")
	h.meta.sendFunc = nil
	h.clock.Advance(time.Second)
	require.Equal(t, 1, h.wrote("ada"))
	h.run()
	require.Equal(t, operation.Done, h.op("n2").State)
}

func TestSender_aRefusedTemplateIsNotRepeated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = refuse(131047)
	h.record("n1", "ada", operation.Message{Type: "text", Key: "order.paid", Template: "sale_paid"})
	h.run()
	require.Len(t, h.meta.sent, 2)
	require.Equal(t, operation.Parked, h.op("n1").State)
}

func TestSender_whatCannotBeSentIsParkedWithoutACall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		message operation.Message
	}{
		{"an empty text", text("")},
		{"a text that does not exist", operation.Message{Type: "text", Key: "no.such"}},
		{"a type nobody knows", operation.Message{Type: "video", Text: "x"}},
		{"a list without a list", operation.Message{Type: "list", Text: "x"}},
		{"a flow without session", operation.Message{Type: "flow", Text: "x", Flow: &operation.Flow{Name: "offramp", CTA: "x"}}},
		{"an image without picture", operation.Message{Type: "image", Text: "x"}},
		{"a button id that is cut", operation.Message{Type: "buttons", Text: "x", Buttons: []operation.Button{{ID: strings.Repeat("x", 300), Title: "x"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.record("n1", "ada", tt.message)
			h.run()
			require.Equal(t, operation.Parked, h.op("n1").State)
			require.Len(t, h.records(), 1)
		})
	}
	h := newHarness(t)
	h.record("n1", "nobody", text("hi"))
	h.run()
	require.Equal(t, operation.Parked, h.op("n1").State)
	require.Empty(t, h.meta.sent)
}

func TestSender_noCallWithoutEnoughLease(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.left = 15*time.Second - time.Millisecond
	h.record("n1", "ada", text("hi"))
	_, err := h.step()
	require.NoError(t, err)
	require.Empty(t, h.meta.sent)
	require.Equal(t, operation.Pending, h.op("n1").State)
	require.Zero(t, h.dueIn("n1"))
	h.left = 15 * time.Second
	h.run()
	require.Len(t, h.meta.sent, 1)
}

func TestSender_noCallUnderALostLease(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.record("n1", "ada", text("hi"))
	op, err := operation.Claim(t.Context(), h.engine, operation.Notify, "w1", time.Second, h.clock.Now())
	require.NoError(t, err)
	h.clock.Advance(5 * time.Second)
	ctx := operation.WithLeft(t.Context(), func() time.Duration { return time.Minute })
	require.ErrorIs(t, h.sender.Handle(ctx, op, *op.Lease), operation.ErrLeaseLost)
	require.Empty(t, h.meta.sent)
}

func TestSender_keepsThePace(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var asked []string
	h.pacer.waitFunc = func(scope, id string) time.Duration {
		asked = append(asked, scope+"/"+id)
		if scope == "whatsapp_pair" {
			return 6 * time.Second
		}
		return 0
	}
	h.record("n1", "ada", text("hi"))
	h.run()
	require.Empty(t, h.meta.sent)
	require.Equal(t, 6*time.Second, h.dueIn("n1"))
	require.Equal(t, []string{"whatsapp_pair/ada"}, asked)
	h.pacer.waitFunc = func(scope, _ string) time.Duration {
		return map[string]time.Duration{"whatsapp_number": time.Second}[scope]
	}
	h.clock.Advance(6 * time.Second)
	h.run()
	require.Equal(t, time.Second, h.dueIn("n1"))
}

func TestSender_nothingSentIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = func(Outgoing) (SendResult, error) { return SendResult{}, failed(outside.ErrNotSent) }
	h.record("n1", "ada", text("hi"))
	h.run()
	require.Equal(t, operation.Pending, h.op("n1").State)
	require.LessOrEqual(t, h.dueIn("n1"), 3*time.Second)
}

func TestSender_moreThanThreeButtonsBecomeAList(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	m := operation.Message{Type: "buttons", Text: "which?"}
	for _, id := range []string{"a", "b", "c", "d"} {
		m.Buttons = append(m.Buttons, operation.Button{ID: id, Title: "T" + id})
	}
	h.record("n1", "ada", m)
	list := operation.Message{Type: "list", Text: "which?", List: &operation.List{Button: "Choose"}}
	for _, title := range []string{"first", "second", "third"} {
		s := operation.Section{Title: title}
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			s.Rows = append(s.Rows, operation.Row{ID: title + id, Title: id})
		}
		list.List.Sections = append(list.List.Sections, s)
	}
	h.record("n2", "ada", list)
	h.run()
	require.Len(t, h.meta.sent[0].List.Sections[0].Rows, 4)
	require.Equal(t, "en:Choose", h.meta.sent[0].List.Button)
	require.Len(t, h.meta.sent[1].List.Sections, 2, "ten rows and no empty section")
}

func TestNewSender_refusesMissingParts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for name, change := range map[string]func(d *Deps){
		"Engine": func(d *Deps) { d.Engine = nil }, "Client": func(d *Deps) { d.Client = nil },
		"Texts": func(d *Deps) { d.Texts = nil }, "Tokens": func(d *Deps) { d.Tokens = nil },
		"Pictures": func(d *Deps) { d.Pictures = nil }, "Alerts": func(d *Deps) { d.Alerts = nil },
		"Fallback": func(d *Deps) { d.Fallback = nil }, "Pacer": func(d *Deps) { d.Pacer = nil },
		"Now": func(d *Deps) { d.Now = nil }, "Log": func(d *Deps) { d.Log = nil },
	} {
		deps := h.deps()
		change(&deps)
		_, err := NewSender(deps, SenderConfig{})
		require.ErrorContains(t, err, name)
	}
	_, err := NewSender(h.deps(), SenderConfig{MaxSends: -1})
	require.Error(t, err)
}

func TestSender_theEndOfTheContextDoesNotLoseTheReply(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.record("n1", "ada", text("hi"))
	op, err := operation.Claim(t.Context(), h.engine, operation.Notify, "w1", 30*time.Second, h.clock.Now())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(operation.WithLeft(t.Context(), func() time.Duration { return time.Minute }))
	h.meta.sendFunc = func(Outgoing) (SendResult, error) {
		cancel() // the process stops, or the lease is lost
		return SendResult{Wamid: "wamid.Y"}, nil
	}
	require.NoError(t, h.sender.Handle(ctx, op, *op.Lease))
	require.Equal(t, operation.Done, h.op("n1").State)
	require.Equal(t, "wamid.Y", h.op("n1").Wamid)
}
