package story_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/delivery"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/story"
	"offrampbot/services/testkit"
)

// onBoth runs a test on both engines, with ada's order in review.
func onBoth(t *testing.T, test func(t *testing.T, d *desk, o *offramp.Order)) {
	t.Helper()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		d.deposited("ada", 1, 30)
		test(t, d, d.review("ada", 25))
	})
}

func TestDecide_releasesWhatIsProvenNotPaid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk, o *offramp.Order) {
		d.rail.say(payout.Unknown, true) // pending, or whatever else is no proof
		id := d.ask(admin.Release, o.Reference)
		_, err := d.sut.Decide(t.Context(), d.by(d.approver, "bank says no"), id, true)
		d.refused(err, "evidence_missing")
		require.Equal(t, admin.Open, d.approval(id).State, "it can be tried again")
		require.Equal(t, offramp.Review, d.order(o.ID).State)

		d.rail.say(payout.Unknown, false) // the bank does not know the reference
		request := d.by(d.approver, "bank says no")
		looks := d.rail.looks
		changed, err := d.sut.Decide(t.Context(), request, id, true)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"id": id, "state": "approved", "order": o.ID, "order_state": "failed"}, d.body(changed))
		require.Greater(t, d.rail.looks, looks, "the look-up is fresh")
		require.Equal(t, offramp.Failed, d.order(o.ID).State)
		require.Equal(t, offramp.Voided, d.order(o.ID).Hold)
		require.Equal(t, admin.Approved, d.approval(id).State)
		require.Equal(t, d.approver.ID, d.approval(id).DecidedBy)
		tale, err := d.sut.Tale(t.Context(), o.ID)
		require.NoError(t, err)
		var actions []string
		for _, e := range tale.Audit {
			actions = append(actions, e.Action)
		}
		require.Subset(t, actions, []string{"approval_asked", "approval_approved", "AdminReleased"})

		looks = d.rail.looks
		again, err := d.sut.Decide(t.Context(), request, id, true)
		require.NoError(t, err)
		require.True(t, again.Repeated)
		require.JSONEq(t, string(changed.Body), string(again.Body))
		require.Equal(t, looks, d.rail.looks, "a repeat asks nobody")
		other := request
		other.Request.Hash = "another body"
		_, err = d.sut.Decide(t.Context(), other, id, true)
		d.refused(err, "idempotency_conflict")
		_, err = d.sut.Decide(t.Context(), d.by(d.second, "me too"), id, true)
		d.refused(err, "approval_refused")
	})
}

func TestDecide_neverReleasesWhatTurnsOutPaid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk, o *offramp.Order) {
		id := d.ask(admin.Release, o.ID)
		d.rail.say(payout.Success, true)
		_, err := d.sut.Decide(t.Context(), d.by(d.approver, "surely unpaid"), id, true)
		d.refused(err, "approval_refused")
		require.Equal(t, offramp.Success, d.order(o.ID).State, "the look-up was raised first")
		require.Equal(t, admin.Refused, d.approval(id).State)
	})
}

func TestDecide_settlesWhatTheLookUpProves(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk, o *offramp.Order) {
		id := d.ask(admin.Settle, o.ID)
		_, err := d.sut.Decide(t.Context(), d.by(d.approver, "seen on the statement"), id, true)
		d.refused(err, "evidence_missing")
		d.rail.say(payout.Success, true)
		request := d.by(d.approver, "seen on the statement")
		changed, err := d.sut.Decide(t.Context(), request, id, true)
		require.NoError(t, err)
		require.Equal(t, "success", d.body(changed)["order_state"])
		require.Equal(t, offramp.Success, d.order(o.ID).State)
		require.Equal(t, admin.Approved, d.approval(id).State)
		again, err := d.sut.Decide(t.Context(), request, id, true)
		require.NoError(t, err)
		require.True(t, again.Repeated)
	})
}

func TestDecide_settlesAnOlderAttemptThatIsPaid(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		d.deposited("ada", 1, 30)
		d.rail.fails = 1
		o := d.review("ada", 25)
		require.Equal(t, 2, o.Attempt)
		older, current := o.Attempts[0].Reference, o.Attempts[1].Reference
		d.rail.sayOf(older, payout.Success, true) // the bank takes back that it failed
		d.rail.sayOf(current, payout.Unknown, true)
		id := d.ask(admin.Release, o.ID)
		_, err := d.sut.Decide(t.Context(), d.by(d.approver, "nothing was paid"), id, true)
		d.refused(err, "approval_refused")
		require.Equal(t, 1, d.order(o.ID).Older, "the look-up was raised first")

		id = d.ask(admin.Settle, o.ID)
		_, err = d.sut.Decide(t.Context(), d.by(d.approver, "attempt 1 is paid"), id, true)
		d.refused(err, "evidence_missing")
		d.rail.sayOf(current, payout.Unknown, false)
		d.clock.Advance(time.Hour)
		changed, err := d.sut.Decide(t.Context(), d.by(d.approver, "attempt 1 is paid"), id, true)
		require.NoError(t, err)
		require.Equal(t, "success", d.body(changed)["order_state"])
		o = d.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 1, o.Paid)
		require.Equal(t, offramp.AdminSettled, o.History[len(o.History)-1].Event)
	})
}

func TestDecide_resumesWithAFreshLookUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk, o *offramp.Order) {
		id := d.ask(admin.Resume, o.ID)
		changed, err := d.sut.Decide(t.Context(), d.by(d.approver, "bank is back"), id, true)
		require.NoError(t, err)
		require.Equal(t, "unclear", d.body(changed)["order_state"])
		require.Equal(t, offramp.Unclear, d.order(o.ID).State)
		d.rail.say(payout.Success, true)
		d.clock.Advance(time.Hour)
		d.work()
		require.Equal(t, offramp.Success, d.order(o.ID).State)
	})
}

func TestDecide_isVoidWhenTheOrderMovedOn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk, o *offramp.Order) {
		d.rail.say(payout.Unknown, false)
		id := d.ask(admin.Release, o.ID)
		d.update(func(tx store.Tx) error { // somebody else changes the order
			var other offramp.Order
			if err := tx.Get(store.Orders, o.ID, &other); err != nil {
				return err
			}
			return tx.Replace(store.Orders, &other)
		})
		looks := d.rail.looks
		_, err := d.sut.Decide(t.Context(), d.by(d.approver, "unpaid"), id, true)
		d.refused(err, "approval_refused")
		require.Equal(t, looks, d.rail.looks, "nobody is asked for a void approval")
		require.Equal(t, admin.Refused, d.approval(id).State)
		require.Equal(t, offramp.Review, d.order(o.ID).State)

		// It moves on while the bank is being asked.
		id = d.ask(admin.Release, o.ID)
		once := false
		d.rail.look = func(string) {
			if once {
				return
			}
			once = true
			d.update(func(tx store.Tx) error {
				var other offramp.Order
				if err := tx.Get(store.Orders, o.ID, &other); err != nil {
					return err
				}
				return tx.Replace(store.Orders, &other)
			})
		}
		_, err = d.sut.Decide(t.Context(), d.by(d.approver, "unpaid"), id, true)
		d.refused(err, "approval_refused")
		require.True(t, once)
		require.Equal(t, admin.Refused, d.approval(id).State)
		require.Equal(t, offramp.Review, d.order(o.ID).State)
	})
}

func TestDecide_needsASecondPersonOfTheRightRole(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk, o *offramp.Order) {
		changed, err := d.sut.AskApproval(t.Context(), d.by(d.approver, "unpaid, I think"), admin.Release, o.ID)
		require.NoError(t, err)
		require.Equal(t, 201, changed.Status)
		id := d.body(changed)["id"]
		looks := d.rail.looks
		for _, approve := range []bool{true, false} {
			_, err = d.sut.Decide(t.Context(), d.by(d.approver, "my own"), id, approve)
			d.refused(err, "second_person")
			_, err = d.sut.Decide(t.Context(), d.by(d.operator, "not my role"), id, approve)
			d.refused(err, "forbidden")
			_, err = d.sut.Decide(t.Context(), d.by(d.second, "unknown one"), "approval-x", approve)
			d.refused(err, "approval_unknown")
			_, err = d.sut.Decide(t.Context(), d.by(d.second, ""), id, approve)
			d.refused(err, "approval_invalid")
		}
		require.Equal(t, looks, d.rail.looks, "the bank is asked only for somebody who may decide")
		changed, err = d.sut.Decide(t.Context(), d.by(d.second, "wait for the bank"), id, false)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"id": id, "state": "rejected", "order": o.ID, "order_state": "review"}, d.body(changed))
		_, err = d.sut.Decide(t.Context(), d.by(d.second, "or not"), id, true)
		d.refused(err, "approval_refused")
	})
}

func TestAskApproval_refusals(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk, o *offramp.Order) {
		ask := func(who admin.Identity, action admin.Action, order, reason string) error {
			_, err := d.sut.AskApproval(t.Context(), d.by(who, reason), action, order)
			return err
		}
		d.refused(ask(d.viewer, admin.Release, o.ID, "because"), "forbidden")
		d.refused(ask(d.operator, admin.Release, "nothing", "because"), "order_unknown")
		d.refused(ask(d.operator, admin.Release, "", "because"), "approval_invalid")
		d.refused(ask(d.operator, "burn", o.ID, "because"), "approval_invalid")
		d.refused(ask(d.operator, admin.Release, o.ID, ""), "approval_invalid")
		waiting := d.sell("bob", 10)
		d.refused(ask(d.operator, admin.Release, waiting.ID, "because"), "approval_refused")

		request := d.by(d.operator, "because")
		first, err := d.sut.AskApproval(t.Context(), request, admin.Release, o.ID)
		require.NoError(t, err)
		again, err := d.sut.AskApproval(t.Context(), request, admin.Release, o.ID)
		require.NoError(t, err)
		require.True(t, again.Repeated)
		require.Equal(t, first.Body, again.Body)
		d.refused(ask(d.second, admin.Settle, o.ID, "me too"), "approval_refused")
	})
}

func TestPutSettings_changesAllOrNoneOncePerRequest(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		_, err := d.sut.PutSettings(t.Context(), d.by(d.viewer, ""), map[string]string{"spread_bps": "1"})
		d.refused(err, "forbidden")
		_, err = d.sut.PutSettings(t.Context(), d.by(d.operator, ""), map[string]string{"spread_bps": "1", "drain": "maybe"})
		d.refused(err, "setting_invalid")
		request := d.by(d.operator, "market")
		_, err = d.sut.PutSettings(t.Context(), request, map[string]string{"spread_bps": "70"})
		require.NoError(t, err)
		_, err = d.sut.PutSettings(t.Context(), d.by(d.operator, ""), map[string]string{"spread_bps": "80"})
		require.NoError(t, err)
		again, err := d.sut.PutSettings(t.Context(), request, map[string]string{"spread_bps": "70"})
		require.NoError(t, err)
		require.True(t, again.Repeated)
		require.Equal(t, "80", d.list(admin.Settings, 5, "spread_bps", nil)[0]["value"], "the repeat changed nothing")
		trail := d.list(admin.Audit, 5, "", map[string]string{"stream": "settings"})
		require.Len(t, trail, 2)
		require.Equal(t, "staff:"+d.operator.ID, trail[0]["actor"])
	})
}

func TestRedrive(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		o := d.sell("ada", 10)
		at := d.clock.Now()
		const callback = "bank:transfer.success:ref:success"
		d.update(func(tx store.Tx) error {
			r := delivery.New(callback, delivery.Payout, "k", "p", "f", nil, at, at)
			r.State, r.Due, r.DoneAt, r.Reason = delivery.Unhandled, nil, &at, "nobody knows"
			if err := tx.Insert(store.Inbox, r); err != nil {
				return err
			}
			for kind, id := range map[operation.Kind]string{operation.Notify: "notify:x:1", operation.Payout: "payout:x"} {
				op := operation.New(kind, id, o.ID, "ada", "user:ada", at, at)
				op.State, op.Due, op.Reason = operation.Parked, nil, "tries are over"
				if err := tx.Insert(store.Outbox, op); err != nil {
					return err
				}
			}
			return nil
		})
		redrive := func(who admin.Identity, id, reason string) (admin.Changed, error) {
			return d.sut.Redrive(t.Context(), d.by(who, reason), id)
		}
		_, err := redrive(d.viewer, callback, "try again")
		d.refused(err, "forbidden")
		_, err = redrive(d.operator, callback, " ")
		d.refused(err, "approval_invalid")
		_, err = redrive(d.operator, "nothing", "try again")
		d.refused(err, "parked_unknown")
		_, err = redrive(d.operator, "payout:x", "try again")
		d.refused(err, "redrive_refused")

		request := d.by(d.operator, "try again")
		changed, err := d.sut.Redrive(t.Context(), request, callback)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"id": callback, "record": "receipt", "state": "received"}, d.body(changed))
		again, err := d.sut.Redrive(t.Context(), request, callback)
		require.NoError(t, err)
		require.True(t, again.Repeated)
		_, err = redrive(d.operator, callback, "once more")
		d.refused(err, "redrive_refused")
		_, err = redrive(d.operator, "notify:x:1", "try again")
		require.NoError(t, err)
		require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			op, err := operation.Load(r, "notify:x:1")
			require.NoError(t, err)
			require.Equal(t, operation.Pending, op.State)
			require.NotNil(t, op.Due)
			rec, err := delivery.Load(r, callback)
			require.Equal(t, delivery.Received, rec.State)
			return err
		}))
		require.Equal(t, []string{"payout:x"}, idsOf(d.list(admin.Parked, 5, "", nil)))
		require.Len(t, d.list(admin.Audit, 5, "", map[string]string{"stream": "staff:" + d.operator.ID}), 1)
		require.Len(t, d.list(admin.Audit, 5, "", map[string]string{"stream": "order:" + o.ID, "action": "record driven again"}), 1)
	})
}

func TestNew_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := story.New(story.Deps{})
	require.ErrorContains(t, err, "Engine is missing")
	_, err = story.New(story.Deps{Engine: testkit.Bolt(t, indexes())})
	require.ErrorContains(t, err, "Settings is missing")
}
