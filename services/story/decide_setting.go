package story

import (
	"context"
	"fmt"
	"strings"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// statusAccepted says that a change waits for a second person.
const statusAccepted = 202

// accepted is the answer to a change that waits: the id of its approval.
type accepted struct {
	ID string `json:"id"`
}

// settled is the answer to a decision about settings.
type settled struct {
	ID    string              `json:"id"`
	State admin.ApprovalState `json:"state"`
}

// errSettingsMoved is the refusal of an approval whose settings are not those that were asked about any more.
func errSettingsMoved() error {
	return fault.New("approval_refused", nil).With("why", "the settings have changed since it was asked")
}

// approvalOf reads an approval.
func (s *Story) approvalOf(ctx context.Context, id string) (a *admin.Approval, err error) {
	err = s.view(ctx, func(r store.Reader) (err error) {
		a, err = admin.LoadApproval(r, id)
		return err
	})
	return a, err
}

// decideSettings approves or rejects a change of settings. The change, its audit entries and the approval are one
// commit, on condition that the settings concerned still are what they were when it was asked.
//
// Invariant: what needs a second person is never changed by the one who asked.
func (s *Story) decideSettings(ctx context.Context, c admin.Change, id string, approve bool) (admin.Changed, error) {
	d, moved := s.decision(c, 0), false
	changed, err := s.once(ctx, c, statusOK, func(tx store.Tx) (any, error) {
		moved = false
		if !approve {
			a, err := s.staff.Reject(tx, id, d)
			if err != nil {
				return nil, err
			}
			return settled{ID: a.ID, State: a.State}, nil
		}
		a, err := s.staff.Approve(tx, id, d)
		if err != nil {
			return nil, err
		}
		same, err := s.settings.IsAsAsked(tx, a.Settings)
		if err != nil {
			return nil, err
		}
		if !same {
			moved = true
			return nil, errSettingsMoved()
		}
		changes := map[string]string{}
		for _, w := range a.Settings {
			changes[w.Name] = w.Value
		}
		why := a.Reason + "; approved by " + c.Who.Actor() + ": " + strings.TrimSpace(c.Reason)
		if _, err := s.settings.Change(tx, "staff:"+a.AskedBy, why, changes, d.At); err != nil {
			return nil, err
		}
		return settled{ID: a.ID, State: a.State}, nil
	})
	if !moved {
		return changed, err
	}
	refuse := func(_ context.Context, tx store.Tx) error {
		return admin.Refuse(tx, id, c.Who.ID, "the settings have changed since it was asked", d.At)
	}
	if failed := s.engine.Update(ctx, refuse); failed != nil {
		return admin.Changed{}, fmt.Errorf("record refused approval: %w", failed)
	}
	return admin.Changed{}, err
}
