package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	flowsjson "offrampbot/flows_json"
	"offrampbot/services/delivery"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/user"
	"offrampbot/services/whatsapp"
)

// whatsappActor turns switches for WhatsApp's events.
const whatsappActor = "system:whatsapp"

// accounts handles events of the WhatsApp account: violations, blocked flows, opt-outs.
type accounts struct{ a *app }

func (h accounts) Handle(ctx context.Context, r *delivery.Receipt, body []byte) error {
	item, err := whatsapp.DecodeBody(body, h.a.cfg.WhatsApp.PhoneNumberID)
	if err != nil {
		return fmt.Errorf("read account event: %w", err)
	}
	if item.Event == nil {
		return delivery.ErrUnhandled
	}
	for _, e := range item.Event.Errors {
		h.a.sender.ApplyNumberError(e, nowMillis())
	}
	form := h.form(ctx, *item.Event)
	at := nowMillis()
	return h.a.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
		outcome, err := accountEvent(tx, *item.Event, form, item.SentAt, at)
		if err != nil {
			return err
		}
		return delivery.Finish(tx, r, outcome, nowMillis())
	})
}

// form is the name of the form of ours that an event is about, or empty where that is not known: then the alert says so.
func (h accounts) form(ctx context.Context, e whatsapp.Event) string {
	if e.Flow == nil || e.Flow.ID == "" {
		return ""
	}
	name, err := h.a.graph.FlowName(ctx, e.Flow.ID)
	if err != nil {
		h.a.log.WarnContext(ctx, "form of an event not looked up", "flow_id", e.Flow.ID, "error", err)
		return ""
	}
	if !slices.Contains(formNames(), name) {
		return ""
	}
	return name
}

// formNames are the forms that are sent, by the names of their documents.
func formNames() []string { return flowsjson.Names() }

// accountEvent applies one event of the account. form is the name of the form that it is about, seen when it happened.
func accountEvent(tx store.Tx, e whatsapp.Event, form string, seen, at time.Time) (outcome string, err error) {
	if e.Preference != nil {
		return preference(tx, *e.Preference, at)
	}
	kind, key, about := "whatsapp_account", setting.Messages, e.Field+": "+e.Name
	if e.Flow != nil {
		kind, key, about = "whatsapp_flow", "", about+" of form "+e.Flow.ID
		if form != "" {
			key = setting.Flow(form)
		}
	}
	alarm := setting.Alarm{Actor: whatsappActor, Switch: key, Why: "WhatsApp says " + about, Seen: seen}
	switch effect := e.Effect(); {
	case effect == whatsapp.EffectLift && key != "":
		changed, err := setting.TurnOn(tx, alarm, at)
		if err != nil || !changed {
			return "noted", err
		}
		return "resumed", nil
	case effect == whatsapp.EffectStop && key != "":
		changed, err := setting.TurnOff(tx, alarm, at)
		if err != nil {
			return "", err
		}
		if changed {
			about += "; " + key + " is switched off"
		}
		return "stopped", raiseAlert(tx, kind, about, about, nil)
	case effect == whatsapp.EffectStop:
		about += "; it is no form of ours that could be found, switch yours off by hand if it is one"
		return "alert", raiseAlert(tx, kind, about, about, nil)
	case effect == whatsapp.EffectAlert:
		return "alert", raiseAlert(tx, kind, about, about, nil)
	default:
		return "noted", nil
	}
}

// preference notes a person's wish about marketing.
func preference(tx store.Tx, p whatsapp.Preference, at time.Time) (outcome string, err error) {
	u, err := user.ByWhatsApp(tx, p.From)
	if p.From == "" {
		u, err = user.ByScopedID(tx, p.ScopedID)
	}
	if errors.Is(err, store.ErrNotFound) {
		return "nobody of ours", nil
	}
	if err != nil {
		return "", err
	}
	u.StoppedAt = nil
	if p.Value == "stop" {
		u.StoppedAt = &at
	}
	return "preference", tx.Replace(store.Users, u)
}
