package admin

import (
	"fmt"

	"offrampbot/services/fault"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// openSettings is the value of Open of a change of settings: one at a time waits, so that each is judged against settings
// that nobody else is about to change.
const openSettings = "settings"

// OpenSettings records in the caller's transaction that somebody asks to change settings; Action, Order and Revision of
// the Ask are not used. Fault codes: forbidden, approval_invalid (the reason), approval_refused (another one is open).
func OpenSettings(tx store.Tx, ask Ask, wanted []setting.Wanted) (*Approval, error) {
	if !Can(ask.By.Role, ChangeSetting) {
		return nil, fault.New("forbidden", nil)
	}
	if ask.ID == "" || len(wanted) == 0 {
		return nil, fault.New("approval_invalid", nil).With("what", "the settings")
	}
	if err := checkReason(ask.Reason); err != nil {
		return nil, err
	}
	open, err := store.All[Approval](tx, store.Query{
		Collection: store.Approvals, Index: "open", Equal: []any{openSettings}, Limit: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("find open change of settings: %w", err)
	}
	if len(open) > 0 {
		return nil, fault.New("approval_refused", nil).With("why", "another change of settings waits for a decision")
	}
	one := openSettings
	a := &Approval{
		Meta: store.Meta{ID: ask.ID, Version: 1}, Action: SetSettings, Settings: wanted,
		Reason: clean(ask.Reason), AskedBy: ask.By.ID, AskedAt: ask.At, State: Open, Open: &one,
	}
	if err := tx.Insert(store.Approvals, a); err != nil {
		return nil, fmt.Errorf("open approval of settings: %w", err)
	}
	return a, a.trail(tx, ask.By.Actor(), "approval_asked", a.Reason, ask.At)
}
