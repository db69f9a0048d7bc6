package whatsapp

import (
	"strings"
)

// Effect is what an event of the account or of a Flow means for what we send.
type Effect string

// The effects.
const (
	EffectNote  Effect = "note"  // nothing to do
	EffectAlert Effect = "alert" // a person must look
	EffectStop  Effect = "stop"  // may not be sent any more, and a person must look
	EffectLift  Effect = "lift"  // may be sent again
)

// Effect judges an event. What is not known pages an operator and stops nothing: a stop by mistake would keep money news
// from everybody, while a ban that we have not understood is refused by WhatsApp itself and trips the sender's breaker.
func (e Event) Effect() Effect {
	name := strings.ToUpper(e.Name)
	switch {
	case e.Flow != nil:
		return e.Flow.effect(name)
	case e.Field == "phone_number_quality_update":
		if name == "FLAGGED" || name == "DOWNGRADE" {
			return EffectAlert
		}
		return EffectNote
	case e.Field == "account_update" && e.Account != nil:
		return e.Account.effect(name)
	case e.Account != nil, len(e.Errors) > 0:
		return EffectAlert
	default:
		return EffectNote
	}
}

func (a *Account) effect(name string) Effect {
	switch strings.ToUpper(a.BanState) {
	case "DISABLE":
		return EffectStop
	case "REINSTATE":
		return EffectLift
	}
	switch name {
	case "ACCOUNT_RESTRICTION", "ACCOUNT_DELETED":
		return EffectStop
	}
	return EffectAlert // a violation, and a ban that is only announced: until it comes money news still goes out
}

func (f *FlowEvent) effect(name string) Effect {
	if name != "FLOW_STATUS_CHANGE" {
		if strings.EqualFold(f.AlertState, "DEACTIVATED") {
			return EffectNote
		}
		return EffectAlert
	}
	switch strings.ToUpper(f.NewStatus) {
	case "BLOCKED", "THROTTLED":
		return EffectStop
	case "PUBLISHED":
		return EffectLift
	}
	return EffectAlert
}
