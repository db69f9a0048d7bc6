package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/store"
)

// DeskName is the name of the desk as a venue; its switch is "venue:desk".
const DeskName = "desk"

// Desk is the operator's own liquidity as a venue: it buys every order at the quoted rate. Nothing leaves the process,
// so it always answers, and a trade is one document in `links` under the id "desk:<reference>|<reference>". That
// document is the desk's only memory: Execute writes it once, a repeat finds it, LookUp reads it and nothing else, so
// that "unknown to the venue" is the truth and not an assumption.
type Desk struct {
	engine store.Engine
	book   BookFunc
	now    func() time.Time
}

// NewDesk makes the desk. book reads the operator's settings inside the given snapshot; now is the clock, UTC.
func NewDesk(engine store.Engine, book BookFunc, now func() time.Time) (*Desk, error) {
	switch {
	case engine == nil:
		return nil, errors.New("make desk: engine is missing")
	case book == nil:
		return nil, errors.New("make desk: book is missing")
	case now == nil:
		return nil, errors.New("make desk: now is missing")
	}
	return &Desk{engine: engine, book: book, now: now}, nil
}

// Trade is one execution of the desk, kept in `links`. It repeats what was asked, so that a second order under the same
// reference is noticed and not taken for the first.
type Trade struct {
	store.Meta `bson:",inline"`
	Kind       string      `bson:"kind" json:"kind"`     // always "desk_trade"
	Target     string      `bson:"target" json:"target"` // the reference
	Asset      string      `bson:"asset" json:"asset"`
	Chain      string      `bson:"chain" json:"chain"`
	Fiat       string      `bson:"fiat" json:"fiat"`
	Amount     money.Micro `bson:"amount" json:"amount"` // micro-units bought
	Rate       money.Rate  `bson:"rate" json:"rate"`
	Gross      money.Minor `bson:"gross" json:"gross"` // minor units owed
	At         time.Time   `bson:"at" json:"at"`
}

// TradeID is the `_id` of the desk's record of a reference.
func TradeID(reference string) string { return DeskName + ":" + reference + "|" + reference }

// Name is "desk".
func (d *Desk) Name() string { return DeskName }

// SameReferenceSafe is true: the trade's id is the reference, and it is inserted at most once.
func (d *Desk) SameReferenceSafe() bool { return true }

// Price is the operator's rate less the spread; fault codes rate_unavailable and store_unavailable.
func (d *Desk) Price(ctx context.Context, asset, _, fiat string) (Price, error) {
	now := d.now()
	var price Price
	err := d.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		book, err := d.book(r)
		if err != nil {
			return fmt.Errorf("read settings: %w", err)
		}
		price, err = book.Price(asset, fiat, now)
		return err
	})
	if err != nil {
		var known *fault.Error
		if errors.As(err, &known) {
			return Price{}, err
		}
		return Price{}, fault.New("store_unavailable", fmt.Errorf("price %s/%s: %w", asset, fiat, err))
	}
	return price, nil
}

// Execute buys at the quoted rate. It is Success with the trade on record, NotNow while the venue is switched off and
// this reference was never executed, Failed for an order that contradicts itself, and Unknown when the store did not
// say how the commit ended or the reference belongs to another order.
func (d *Desk) Execute(ctx context.Context, o Order) Result {
	gross, _, err := o.Rate.Apply(o.Amount)
	switch {
	case o.Reference == "" || o.Asset == "" || o.Fiat == "":
		return Result{Outcome: Failed, Found: true, Reason: "order is incomplete"}
	case err != nil || o.Amount <= 0:
		return Result{Outcome: Failed, Found: true, Reason: "amount or rate is not valid"}
	case o.Gross <= 0 || o.Gross > gross:
		// Invariant: never pay more than amount × rate.
		return Result{Outcome: Failed, Found: true, Reason: "gross is above amount times rate"}
	}
	return d.record(ctx, o)
}

// record commits the trade, or finds it.
func (d *Desk) record(ctx context.Context, o Order) Result {
	trade := tradeOf(o, d.now().UTC().Truncate(time.Millisecond))
	var result Result
	err := d.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		var known Trade
		err := tx.Get(store.Links, trade.ID, &known)
		if err == nil {
			result = known.result(o)
			return nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read desk trade: %w", err)
		}
		book, err := d.book(tx)
		if err != nil {
			return fmt.Errorf("read settings: %w", err)
		}
		if reason, off := book.Off("venue:" + DeskName); off {
			result = Result{Outcome: NotNow, Found: true, Reason: "desk is switched off: " + reason}
			return nil
		}
		fresh := trade
		result = fresh.result(o)
		return tx.Insert(store.Links, &fresh)
	})
	switch {
	case err == nil:
		return result
	case errors.Is(err, store.ErrUnavailable):
		return Result{Outcome: NotNow, Found: true, Reason: "store is unavailable"}
	default:
		return Result{Outcome: Unknown, Found: true, Reason: "desk trade was not recorded: " + err.Error()}
	}
}

// LookUp says what the desk's record says: Success, or Found false when there is none, which is conclusive because
// the record is read on the primary after every earlier commit.
func (d *Desk) LookUp(ctx context.Context, reference string) Result {
	var known Trade
	found := false
	err := d.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		err := tx.Get(store.Links, TradeID(reference), &known)
		found = err == nil
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return Result{Outcome: Unknown, Found: true, Reason: "desk record could not be read: " + err.Error()}
	case !found:
		return Result{Outcome: Unknown, Found: false, Reason: "unknown to the venue"}
	default:
		return known.success()
	}
}

// result compares the record with what is asked now: the same order is done, another one is not ours to explain.
func (t *Trade) result(o Order) Result {
	if t.Asset != o.Asset || t.Chain != o.Chain || t.Fiat != o.Fiat || t.Amount != o.Amount || t.Rate != o.Rate || t.Gross != o.Gross {
		return Result{Outcome: Unknown, Found: true, Reason: "reference belongs to another order"}
	}
	return t.success()
}

// success is the answer for a trade on record.
func (t *Trade) success() Result {
	return Result{Outcome: Success, Found: true, VenueID: DeskName + ":" + t.Target, Filled: t.Gross, RawState: "done"}
}

// tradeOf is the record of an order.
func tradeOf(o Order, at time.Time) Trade {
	return Trade{
		Meta: store.Meta{ID: TradeID(o.Reference), Version: 1}, Kind: "desk_trade", Target: o.Reference,
		Asset: o.Asset, Chain: o.Chain, Fiat: o.Fiat, Amount: o.Amount, Rate: o.Rate, Gross: o.Gross, At: at,
	}
}

var _ Venue = (*Desk)(nil)
