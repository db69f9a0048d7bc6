package offramp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"offrampbot/services/exchange"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// errNoTime: the lease has not enough left for a call and its commit; the operation is tried again with a fresh lease.
var errNoTime = errors.New("lease has not enough time left for a call")

// notNowPause is how long an operation that was told "not now" waits, unless the other side says.
const notNowPause = 30 * time.Second

// errSuperseded: the order has left; there is nothing to call.
var errSuperseded = errors.New("the order has left")

// current reports whether an operation is the one that its order waits for (rule 2).
func current(o *Order, op *operation.Operation) bool {
	if o.Phase != phaseOf(op) || o.OperationID() != op.ID {
		return false
	}
	switch op.Kind {
	case operation.StartExchange:
		return o.State == Exchange || o.State == Unclear
	case operation.Payout:
		return o.State == Sending || o.State == Unclear
	default:
		return false
	}
}

func phaseOf(op *operation.Operation) Phase {
	if op.Kind == operation.StartExchange {
		return ExchangePhase(op.Attempt)
	}
	return PayoutPhase(op.Attempt)
}

// begin stores "about to call with this reference" under the lease, after it checked again that the order still waits
// for it (rule 2, D7). prepare runs before it is stored: what fails there is a call that was never made.
//
// Invariant: when begin lets a call start, the lease lasts longer than the call and its commit. So whoever holds the
// lease of an operation knows that no earlier call of it is still in flight.
func (s *Service) begin(
	ctx context.Context, op *operation.Operation, lease operation.Lease, prepare func(o *Order) error,
) (*Order, *operation.Operation, error) {
	if !s.hasTime(ctx) {
		return nil, nil, errNoTime
	}
	var o *Order
	var held *operation.Operation
	err := s.engine.Update(ctx, func(_ context.Context, tx store.Tx) (err error) {
		now := s.now()
		if held, err = operation.Hold(tx, op.ID, lease, now); err != nil {
			return err
		}
		if o, err = loadOrder(tx, op.Order); err != nil {
			return err
		}
		if !current(o, held) {
			return errSuperseded
		}
		if err := prepare(o); err != nil {
			return err
		}
		return operation.MarkCalling(tx, held, now)
	})
	switch {
	case errors.Is(err, errSuperseded):
		return nil, nil, s.leave(ctx, op, lease)
	case err != nil:
		return nil, nil, err
	case !s.hasTime(ctx): // the commit took so long that the call could outlive the lease
		return nil, nil, errNoTime
	}
	return o, held, nil
}

func (s *Service) hasTime(ctx context.Context) bool {
	return operation.Left(ctx) >= s.policy.ProviderTimeout+s.policy.StoreTimeout
}

// known is the context of a commit after a call: what the other side said is stored also when the worker is stopped or the
// call took all of its time. The lease is what still guards the operation.
func (s *Service) known(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.WithoutCancel(ctx), s.policy.StoreTimeout, errors.New("store time-out"))
}

// leave ends the work on an operation whose order went on without it. One that was called stays open, with a look-up,
// until it is known what became of it.
func (s *Service) leave(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
	ctx, cancel := s.known(ctx)
	defer cancel()
	return s.ofOrder(ctx, op.Order, func(u *unit, o *Order) error {
		held, err := operation.Hold(u.tx, op.ID, lease, u.now)
		if err != nil {
			return err
		}
		if held.Calls == 0 {
			return operation.Supersede(u.tx, held, u.now)
		}
		c := *held
		c.State, c.Due, c.Lease, c.Tries = operation.Called, nil, nil, 0
		u.ops[c.ID], u.changed[c.ID] = &c, true
		return u.askAbout(o, &c)
	})
}

// settle commits an outcome event together with the operation's end, on condition of the lease (rule 2). A refused or
// already applied outcome closes the operation as well; a refused one is looked up, because only a fresh look-up says
// what is true of an attempt that its order no longer waits for (rule 10).
func (s *Service) settle(ctx context.Context, op *operation.Operation, lease operation.Lease, e Occurrence) error {
	ctx, cancel := s.known(ctx)
	defer cancel()
	return s.ofOrder(ctx, op.Order, func(u *unit, o *Order) error {
		held, err := operation.Hold(u.tx, op.ID, lease, u.now)
		if err != nil {
			return err
		}
		u.ops[held.ID] = held
		e.At = u.now
		if e.On == PayoutAccepted && e.Reason != "" { // accepted, but it will not move by itself
			u.alert("payout_needs_attention", op.ID+":"+itoa(held.Calls), e.Reason)
		}
		err = u.raise(o, e)
		if !refused(err) {
			return err
		}
		u.refusal(o, e, err)
		u.end(held, e)
		if errors.Is(err, ErrApplied) || e.On == OutcomeUnknown || e.On == PayoutAccepted {
			return nil
		}
		return u.askAbout(o, held)
	})
}

// end closes an operation whose outcome changed nothing. An accepted one stays open for look-ups.
func (u *unit) end(op *operation.Operation, e Occurrence) {
	c := *op
	c.Due, c.Lease, c.Tries, c.Outcome = nil, nil, 0, string(e.On)
	switch e.On {
	case PayoutAccepted:
		c.State = operation.Accepted
	case OutcomeUnknown:
		c.State = operation.Called
	default:
		c.State, c.DoneAt = operation.Done, &u.now
	}
	u.ops[c.ID], u.changed[c.ID] = &c, true
}

// wait makes an operation due later with the same reference: nothing happened at the other side.
func (s *Service) wait(ctx context.Context, op *operation.Operation, lease operation.Lease, pause time.Duration, why string) error {
	if pause <= 0 {
		pause = notNowPause
	}
	if s.now().Sub(op.CreatedAt) > s.policy.NotNowGiveUp {
		return s.Park(ctx, op, lease, "not now for too long: "+why)
	}
	ctx, cancel := s.known(ctx)
	defer cancel()
	return s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		held, err := operation.Hold(tx, op.ID, lease, s.now())
		if err != nil {
			return err
		}
		return operation.Postpone(tx, held, s.now().Add(pause), why)
	})
}

// Park closes an operation that could not be carried out and raises OperationParked in the same transaction, so that
// nothing that holds money waits on a parked record (rule 9). A look-up is not closed: it is made again on the schedule,
// like one that got no answer, and a person is told.
func (s *Service) Park(ctx context.Context, op *operation.Operation, lease operation.Lease, reason string) error {
	ctx, cancel := s.known(ctx)
	defer cancel()
	if op.Kind == operation.LookUp {
		return s.ofOrder(ctx, op.Order, func(u *unit, o *Order) error {
			held, err := operation.Hold(u.tx, op.ID, lease, u.now)
			if err != nil {
				return err
			}
			u.alert("look_up_fails", op.ID, reason)
			u.plan(o, held, false)
			return nil
		})
	}
	if op.Kind != operation.StartExchange && op.Kind != operation.Payout {
		return s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
			held, err := operation.Hold(tx, op.ID, lease, s.now())
			if err != nil {
				return err
			}
			return operation.Park(tx, held, reason, s.now())
		})
	}
	return s.ofOrder(ctx, op.Order, func(u *unit, o *Order) error {
		held, err := operation.Hold(u.tx, op.ID, lease, u.now)
		if err != nil {
			return err
		}
		u.ops[op.ID], u.parking = held, op.ID
		e := Occurrence{On: OperationParked, ID: op.ID, Attempt: op.Attempt, By: ByWorker, At: u.now, Reason: reason}
		err = u.raise(o, e)
		if err != nil && !refused(err) {
			return err
		}
		if refused(err) {
			u.refusal(o, e, err)
		}
		c := *u.ops[op.ID]
		c.State, c.Due, c.Lease, c.Reason, c.DoneAt = operation.Parked, nil, nil, reason, &u.now
		u.ops[op.ID], u.changed[op.ID] = &c, true
		return nil
	})
}

// Exchange carries out start-exchange: look up first what was called before, then sell.
func (s *Service) Exchange(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
	venue, ok := s.venues[op.Rail]
	if !ok {
		return s.wait(ctx, op, lease, 0, "venue "+op.Rail+" is not configured")
	}
	if op.Calls > 0 {
		done, err := s.recallExchange(ctx, venue, op, lease)
		if done || err != nil {
			return err
		}
	}
	o, held, err := s.begin(ctx, op, lease, func(*Order) error { return nil })
	if err != nil || o == nil {
		return err
	}
	call, cancel := s.bounded(ctx, "exchange")
	defer cancel()
	start := s.now()
	r := venue.Execute(call, exchange.Order{
		Reference: held.Reference, Asset: o.Asset, Chain: o.Chain, Fiat: o.Fiat, Amount: o.Amount, Rate: o.Rate, Gross: o.Gross,
	})
	s.watcher.Outcome(ctx, op.Rail, "exchange", string(r.Outcome), s.now().Sub(start))
	if r.Outcome == exchange.Failed && held.Calls > 1 { // a failure reply to a repeat says nothing about the first call
		r.Outcome = exchange.Unknown
	}
	return s.exchangeEnded(ctx, held, lease, filled(r, o), false)
}

// recallExchange looks a called reference up before it is sold again; done means that this settled it.
func (s *Service) recallExchange(ctx context.Context, venue exchange.Venue, op *operation.Operation, lease operation.Lease) (done bool, err error) {
	o, err := s.Order(ctx, op.Order)
	if err != nil {
		return false, err
	}
	ask, cancel := s.bounded(ctx, "look-up")
	start := s.now()
	r := filled(venue.LookUp(ask, op.Reference), o)
	cancel()
	s.watcher.Outcome(ctx, op.Rail, "look-up", string(r.Outcome), s.now().Sub(start))
	if !unknownToVenue(r) || !venue.SameReferenceSafe() {
		return true, s.exchangeEnded(ctx, op, lease, r, true)
	}
	if free := op.LastCall.Add(s.policy.ProviderTimeout); s.now().Before(free) {
		return true, s.wait(ctx, op, lease, free.Sub(s.now()), "an earlier call may be in flight")
	}
	return false, nil
}

// exchangeEnded turns one of the five endings into an event.
func (s *Service) exchangeEnded(ctx context.Context, op *operation.Operation, lease operation.Lease, r exchange.Result, fresh bool) error {
	e := Occurrence{
		ID: op.ID, Attempt: op.Attempt, By: ByVenue, Fresh: fresh, Provider: op.Rail, ProviderID: r.VenueID, Reason: r.Reason,
	}
	if fresh {
		e.By = ByLookUp
	}
	switch r.Outcome {
	case exchange.Success:
		e.On = ExchangeDone
	case exchange.Failed:
		e.On = ExchangeFailed
	case exchange.NotNow:
		return s.wait(ctx, op, lease, r.RetryAt, r.Reason)
	default: // accepted and unknown: ask until it is known
		e.On, e.By = OutcomeUnknown, ByWorker
	}
	return s.settle(ctx, op, lease, e)
}

// Payout carries out one payout attempt: look up first what was called before, then send under the same reference.
func (s *Service) Payout(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
	rail, ok := s.rails[op.Rail]
	if !ok {
		return s.wait(ctx, op, lease, 0, "rail "+op.Rail+" is not configured")
	}
	if op.Calls > 0 {
		done, err := s.recallPayout(ctx, rail, op, lease)
		if done || err != nil {
			return err
		}
	}
	if why, off, err := s.payoutsOff(ctx, op.Rail); err != nil {
		return err
	} else if off {
		return s.wait(ctx, op, lease, 0, why)
	}
	var account []byte
	o, held, err := s.begin(ctx, op, lease, func(o *Order) (err error) {
		if account, err = s.sealer.Open(o.Beneficiary.Sealed, o.Beneficiary.Record()); err != nil {
			return fmt.Errorf("open account number of %s: %w", o.ID, err)
		}
		return nil
	})
	if err != nil || o == nil {
		return err
	}
	call, cancel := s.bounded(ctx, "payout")
	defer cancel()
	start := s.now()
	r := rail.Send(call, payout.Request{
		Reference: held.Reference, Amount: o.Net, Currency: o.Fiat, BankCode: o.Beneficiary.BankCode,
		Account: payout.AccountNumber(account), AccountName: o.Beneficiary.Name, Reason: o.Reference,
	})
	s.watcher.Outcome(ctx, op.Rail, "payout", string(r.Outcome), s.now().Sub(start))
	r, fresh := s.verified(ctx, rail, o, held, exact(r, o, held))
	return s.payoutEnded(ctx, o, held, lease, r, fresh)
}

// verified makes sure of an ending that the reply to a call tells. Such a reply may be about an earlier call or come
// before the money moved, so only a look-up says how a payout ended (R20). Of the reply alone one ending counts: the
// first call was turned down before it became a transfer, and the provider does not know the reference.
func (s *Service) verified(
	ctx context.Context, rail payout.Rail, o *Order, op *operation.Operation, reply payout.Result,
) (r payout.Result, fresh bool) {
	if reply.Outcome != payout.Success && reply.Outcome != payout.Failed && reply.Outcome != payout.Reversed {
		return reply, false
	}
	r = s.consult(ctx, rail, o, op)
	if !unknownToProvider(r) {
		return r, true
	}
	turnedDown := reply.Outcome == payout.Failed && reply.ProviderID == "" && op.Calls == 1
	if !turnedDown {
		reply.Outcome, reply.Found = payout.Unknown, true
		reply.Reason = "the provider replied " + reply.RawStatus + ", and does not know the reference when asked"
	}
	return reply, false
}

// consult looks a payout up. That it failed is believed when two look-ups in a row say so, because it lets the next
// attempt pay.
func (s *Service) consult(ctx context.Context, rail payout.Rail, o *Order, op *operation.Operation) payout.Result {
	r := s.lookUpOnce(ctx, rail, o, op)
	if r.Outcome != payout.Failed && r.Outcome != payout.Reversed {
		return r
	}
	again := s.lookUpOnce(ctx, rail, o, op)
	if again.Outcome != r.Outcome {
		r.Outcome, r.Found = payout.Unknown, true
		r.Reason = "two look-ups disagree: " + r.RawStatus + ", then " + again.RawStatus
	}
	return r
}

func (s *Service) lookUpOnce(ctx context.Context, rail payout.Rail, o *Order, op *operation.Operation) payout.Result {
	call, cancel := s.bounded(ctx, "look-up")
	defer cancel()
	start := s.now()
	r := exact(rail.LookUp(call, op.Reference), o, op)
	s.watcher.Outcome(ctx, op.Rail, "look-up", string(r.Outcome), s.now().Sub(start))
	return r
}

// recallPayout looks a called reference up before it is sent again (D7); done means that this settled it.
func (s *Service) recallPayout(ctx context.Context, rail payout.Rail, op *operation.Operation, lease operation.Lease) (done bool, err error) {
	o, err := s.Order(ctx, op.Order)
	if err != nil {
		return false, err
	}
	r := s.consult(ctx, rail, o, op)
	if !unknownToProvider(r) || !rail.SameReferenceSafe() {
		return true, s.payoutEnded(ctx, o, op, lease, r, true)
	}
	if free := op.LastCall.Add(s.policy.ProviderTimeout); s.now().Before(free) {
		return true, s.wait(ctx, op, lease, free.Sub(s.now()), "an earlier call may be in flight")
	}
	return false, nil
}

// unknownToProvider reports whether a look-up learnt conclusively that the provider does not know the reference. A result
// that nobody filled is not an answer.
func unknownToProvider(r payout.Result) bool { return !r.Found && r.Outcome == payout.Unknown }

// unknownToVenue is the same for a venue.
func unknownToVenue(r exchange.Result) bool { return !r.Found && r.Outcome == exchange.Unknown }

// filled makes an exchange unknown that brought less than was quoted.
func filled(r exchange.Result, o *Order) exchange.Result {
	if r.Outcome == exchange.Success && r.Filled < o.Gross {
		r.Outcome, r.Found, r.Reason = exchange.Unknown, true, "the venue filled less than was quoted"
	}
	return r
}

// exact makes every answer that is not about this very payout unknown: other reference, amount or currency. A failure
// may leave amount and currency out; a payment may not.
func exact(r payout.Result, o *Order, op *operation.Operation) payout.Result {
	paid := r.Outcome == payout.Success
	ended := paid || r.Outcome == payout.Failed || r.Outcome == payout.Reversed
	other := paid && (r.Reference != op.Reference || r.Amount != o.Net || r.Currency != o.Fiat) ||
		r.Reference != "" && r.Reference != op.Reference || r.Amount != 0 && r.Amount != o.Net || r.Currency != "" && r.Currency != o.Fiat
	if ended && other {
		r.Outcome, r.Found, r.Reason = payout.Unknown, true, "the provider answers about something else than was asked"
	}
	return r
}

func (s *Service) payoutsOff(ctx context.Context, rail string) (why string, off bool, err error) {
	err = s.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		set, err := setting.Load(r)
		if err != nil {
			return err
		}
		why, off = set.Off(setting.Payouts, setting.Provider(rail))
		return nil
	})
	return "switched off: " + why, off, err
}

// payoutEnded turns one of the five endings into an event; fresh says that a look-up told it.
func (s *Service) payoutEnded(ctx context.Context, o *Order, op *operation.Operation, lease operation.Lease, r payout.Result, fresh bool) error {
	e := payoutEvent(o, op.Attempt, r)
	e.ID, e.Fresh, e.Provider = op.ID, fresh, op.Rail
	if !fresh {
		e.By = ByProvider
	}
	switch {
	case e.On != "":
	case r.Outcome == payout.NotNow && !fresh:
		return s.wait(ctx, op, lease, r.RetryAfter, r.Reason)
	case r.Outcome == payout.Accepted:
		e.On, e.By = PayoutAccepted, ByProvider
	default:
		e.On, e.By = OutcomeUnknown, ByWorker
	}
	return s.settle(ctx, op, lease, e)
}

// payoutEvent is the event of a conclusive answer about an attempt; On is empty for any other answer.
func payoutEvent(o *Order, attempt int, r payout.Result) Occurrence {
	e := Occurrence{
		Attempt: attempt, By: ByLookUp, ProviderID: r.ProviderID, SessionID: r.SessionID, Fee: r.FeeMinor, Reason: r.Reason,
	}
	switch r.Outcome {
	case payout.Success:
		e.On = PayoutPaid
	case payout.Failed:
		e.On = PayoutFailed
	case payout.Reversed:
		e.On = PayoutFailed
		if o.State == Success && attempt == o.Paid {
			e.On = PayoutReversed
		}
	default:
	}
	return e
}

// OnPark is Park as the outbox calls it.
func (s *Service) OnPark(ctx context.Context, op *operation.Operation, reason string) error {
	return s.Park(ctx, op, *op.Lease, reason)
}

func itoa(n int) string { return strconv.Itoa(n) }
