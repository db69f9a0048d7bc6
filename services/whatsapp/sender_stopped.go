package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"offrampbot/services/operation"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// stoppedPoll is how often a message is looked at that waits for the sender to be let go on.
const stoppedPoll = 15 * time.Second

// standing is what a message is judged by, read in one view: whom it is for and what the operator's switches say.
type standing struct {
	person   *user.User
	switches *setting.Settings
}

// stand reads both. The switches are read for each message, so a stop is seen by every process with its next one.
func (h *handling) stand(ctx context.Context) (now standing, err error) {
	err = h.view(ctx, func(r store.Reader) (err error) {
		now = standing{}
		if now.switches, err = setting.Load(r); err != nil {
			return err
		}
		var u user.User
		if err = r.Get(store.Users, h.op.User, &u); errors.Is(err, store.ErrNotFound) {
			return nil // a person is missing only for this message, not for the switches
		}
		now.person = &u
		return err
	})
	if err != nil {
		return standing{}, fmt.Errorf("load person and switches of %s: %w", h.op.ID, err)
	}
	return now, nil
}

// stopped reports whether nothing may be sent at all.
func (s standing) stopped() bool {
	_, off := s.switches.Off(setting.Messages)
	return off
}

// age is how long a message has been able to go: time in which nothing was sent does not count.
//
// Invariant: a message that waits because the sender is stopped is not given up for that.
func (s standing) age(created, now time.Time) time.Duration {
	if resumed := s.switches.Toggled[setting.Messages].At; resumed.After(created) {
		created = resumed
	}
	return now.Sub(created)
}

// formOff reports whether the message is a form that is switched off.
func (s standing) formOff(m *operation.Message) bool {
	if m.Flow == nil {
		return false
	}
	_, off := s.switches.Off(setting.Flow(m.Flow.Name))
	return off
}

// withoutForm ends the message of a form that is switched off; chat steps replace it. The alert was raised with the
// switch, so the code is zero and nobody is paged again.
func (h *handling) withoutForm(ctx context.Context) error {
	return h.settle(ctx, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		return h.conclude(tx, op, ClassFlow, 0, now)
	})
}

// FlowName asks WhatsApp for the name of a Flow: its events carry only the id. It may be repeated.
func (c *Client) FlowName(ctx context.Context, id string) (string, error) {
	if !isPhoneID(id) {
		return "", errors.New("read flow name: id is not a number")
	}
	o, err := c.callJSON(ctx, request{
		method: http.MethodGet, path: "/" + url.PathEscape(id), query: url.Values{"fields": {"name"}},
	}, nil)
	if err != nil {
		return "", fmt.Errorf("read flow name: %w", err)
	}
	return o.text("name"), nil
}
