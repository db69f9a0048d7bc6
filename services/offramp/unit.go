package offramp

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/limits"
	"offrampbot/services/operation"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// unit is everything one transaction does to one user's money: it reads each document once, applies events to it in
// memory and stores all of it at the end. The user's accounts and limits documents are its guards: a transaction that
// decides on them always replaces them (rules 5 and 6).
type unit struct {
	s   *Service
	tx  store.Tx
	now time.Time

	user     *user.User
	accounts map[string]*ledger.Account
	limits   *limits.Doc
	settings *setting.Settings
	orders   map[string]*Order
	ops      map[string]*operation.Operation

	touched   map[string]bool // accounts to replace
	fresh     map[string]bool // operations to insert
	changed   map[string]bool // operations to replace
	placed    map[string]bool // orders to insert
	dirty     map[string]bool // orders to replace
	limit     bool
	frozen    bool
	postings  []*ledger.Posting
	entries   []audit.Entry
	links     [][3]string
	told      bool
	evidence  map[string]Evidence
	moved     []Moved
	reviewing bool   // reevaluate is running
	parking   string // the operation whose lease is held and whose worker has given up: no call of it is in flight
}

// Moved is one order's step, for what follows a commit: the guard, metrics, logs.
type Moved struct {
	Order *Order
	From  State
	On    Event
}

func (s *Service) unit(tx store.Tx, userID string, now time.Time) (*unit, error) {
	var u user.User
	if err := tx.Get(store.Users, userID, &u); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil, fault.New("user_unknown", err)
		}
		return nil, fmt.Errorf("read user: %w", err)
	}
	return &unit{
		s: s, tx: tx, now: now, user: &u,
		accounts: map[string]*ledger.Account{}, orders: map[string]*Order{}, ops: map[string]*operation.Operation{},
		touched: map[string]bool{}, fresh: map[string]bool{}, changed: map[string]bool{}, placed: map[string]bool{},
		dirty: map[string]bool{}, evidence: map[string]Evidence{},
	}, nil
}

// account reads the user's account of an asset.
func (u *unit) account(asset string) (*ledger.Account, error) {
	if a := u.accounts[asset]; a != nil {
		return a, nil
	}
	a, err := ledger.Load(u.tx, u.user.ID, asset)
	if err != nil {
		return nil, err
	}
	u.accounts[asset] = a
	return a, nil
}

func (u *unit) rules() (*limits.Doc, *setting.Settings, error) {
	if u.limits == nil {
		d, err := limits.Load(u.tx, u.user.ID)
		if err != nil {
			return nil, nil, err
		}
		u.limits = d
	}
	if u.settings == nil {
		s, err := setting.Load(u.tx)
		if err != nil {
			return nil, nil, err
		}
		u.settings = s
	}
	return u.limits, u.settings, nil
}

// order reads an order of this user.
func (u *unit) order(id string) (*Order, error) {
	if o := u.orders[id]; o != nil {
		return o, nil
	}
	o, err := loadOrder(u.tx, id)
	if err != nil {
		return nil, err
	}
	if o.User != u.user.ID {
		return nil, fault.New("order_unknown", nil)
	}
	u.orders[id] = o
	return o, nil
}

func loadOrder(r store.Reader, id string) (*Order, error) {
	var o Order
	if err := r.Get(store.Orders, id, &o); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil, fault.New("order_unknown", err)
		}
		return nil, fmt.Errorf("read order %s: %w", id, err)
	}
	return &o, nil
}

// operation reads an operation, nil when it does not exist.
func (u *unit) operation(id string) (*operation.Operation, error) {
	if id == "" {
		return nil, nil
	}
	if op := u.ops[id]; op != nil {
		return op, nil
	}
	var op operation.Operation
	err := u.tx.Get(store.Outbox, id, &op)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read operation %s: %w", id, err)
	}
	u.ops[id] = &op
	return &op, nil
}

// raise applies one event to an order of the unit. It returns ErrApplied or the refusal's fault; both leave the unit as
// it was, so that a refused event never stops what else the transaction does (rule 7).
func (u *unit) raise(o *Order, e Occurrence) error {
	f, err := u.facts(o, e)
	if err != nil {
		return err
	}
	c, err := Apply(o, e, f, u.s.policy)
	if err != nil {
		return err
	}
	return u.take(o, c)
}

// take puts a change into the unit and lets its consequences follow in the same transaction.
func (u *unit) take(before *Order, c *Change) error {
	o := c.Order
	u.orders[o.ID] = o
	if before.State == None {
		u.placed[o.ID] = true
	} else if !u.placed[o.ID] {
		u.dirty[o.ID] = true
	}
	changed := c.Account.Available != u.accounts[o.Asset].Available
	u.accounts[o.Asset] = c.Account
	if len(c.Postings) > 0 || o.State.Unfunded() || c.Row.On == PayoutFailed || c.Row.On == ExchangeDone || c.Row.On == AdminResumed {
		u.touched[o.Asset] = true
	}
	u.postings = append(u.postings, c.Postings...)
	u.entries = append(u.entries, c.Audit...)
	for _, op := range c.Insert {
		u.ops[op.ID], u.fresh[op.ID] = op, true
	}
	for _, op := range c.Replace {
		u.ops[op.ID] = op
		if !u.fresh[op.ID] {
			u.changed[op.ID] = true
		}
	}
	for _, reference := range c.References {
		u.link(reference, "order", o.ID)
	}
	u.told = u.told || c.Told
	u.moved = append(u.moved, Moved{Order: o, From: before.State, On: c.Row.On})
	if c.Freeze != "" {
		if err := u.freeze(c.Freeze); err != nil {
			return err
		}
	}
	if err := u.count(before, o); err != nil {
		return err
	}
	if changed { // what this order took is missing to another, what it gave back may cover one (rule 5)
		return u.reevaluate(o.Asset, Occurrence{On: FundsFreed, ID: o.ID + ":" + string(c.Row.On), By: ByWorker, At: u.now})
	}
	return nil
}

// count keeps the limits document: limits count from Placed on, and one unfunded order per asset (rule 6).
func (u *unit) count(before, o *Order) error {
	if before.State == o.State && before.State != None && before.Quote == o.Quote {
		if o.State.Unfunded() {
			u.limit = true
		}
		return nil
	}
	d, _, err := u.rules()
	if err != nil {
		return err
	}
	u.limit = true
	if before.State == None || before.Quote != o.Quote {
		limits.Add(d, limits.Entry{
			Order: o.ID, At: u.now, Fiat: o.Fiat, Minor: o.Gross, Beneficiary: o.Beneficiary.Digest,
		}, u.now)
	}
	switch {
	case !o.State.Counts():
		limits.Remove(d, o.ID)
	case o.State == Success:
		limits.End(d, o.ID)
	}
	if o.State.Unfunded() {
		return limits.SetOpen(d, o.Asset, o.ID)
	}
	limits.ClearOpen(d, o.Asset, o.ID)
	return nil
}

// reevaluate lets the user's unfunded order of an asset follow the level of funds (rule 5). A refusal is recorded and
// stops nothing.
func (u *unit) reevaluate(asset string, e Occurrence) error {
	if u.reviewing {
		return nil
	}
	d, _, err := u.rules()
	if err != nil {
		return err
	}
	id, open := d.Open[asset]
	if !open {
		return nil
	}
	o, err := u.order(id)
	if err != nil {
		return err
	}
	if o.State != Waiting && o.State != Deposit {
		return nil
	}
	if o.Due != nil && !u.now.Before(*o.Due) { // its window is over, whoever notices first: what comes now is late
		err := u.raise(o, Occurrence{On: o.DueFor, ID: "timer:" + o.ID, By: ByTimer, At: u.now, Due: o.Due})
		u.told = false
		return err
	}
	u.reviewing = true
	err = u.raise(o, e)
	u.reviewing = false
	if refused(err) {
		u.refusal(o, e, err)
		return nil
	}
	return err
}

// refused reports whether an event was refused or already applied, as opposed to a failure of the transaction.
func refused(err error) bool {
	var f *fault.Error
	return errors.Is(err, ErrApplied) || errors.As(err, &f) && f.Kind != fault.Internal && f.Kind != fault.Unavailable
}

// refusal writes a refused event to the trail.
func (u *unit) refusal(o *Order, e Occurrence, err error) {
	if errors.Is(err, ErrApplied) {
		return
	}
	u.entries = append(u.entries, audit.Entry{
		Stream: "order:" + o.ID, At: u.now, Actor: string(e.By), Action: "event refused", Why: errorCode(err),
		Before: label(o), Data: map[string]string{"event": string(e.On), "event_id": e.ID, "key": e.key()},
	})
}

func (u *unit) link(id, kind, target string) {
	u.links = append(u.links, [3]string{ids.NormalID(id), kind, target})
}

// freeze stops the user's money from starting to move; both guard documents are replaced, the accounts of every asset
// among them (rule 6).
func (u *unit) freeze(why string) error {
	for _, a := range u.s.registry.Assets() {
		if _, err := u.account(a.ID); err != nil {
			return err
		}
	}
	u.touchAll()
	user.Frozen(u.user, why, u.now)
	u.frozen = true
	u.entries = append(u.entries, audit.Entry{
		Stream: "user:" + u.user.ID, At: u.now, Actor: "system", Action: "user frozen", Why: why,
	})
	return nil
}

func (u *unit) touchAll() {
	u.limit = true
	for asset := range u.accounts {
		u.touched[asset] = true
	}
}

// flush stores everything. The order of writes is fixed, so that two units of one user conflict early.
func (u *unit) flush() error {
	if err := u.thawPaid(); err != nil {
		return err
	}
	if u.limit {
		d, _, err := u.rules()
		if err != nil {
			return err
		}
		if err := limits.Save(u.tx, d); err != nil {
			return err
		}
	}
	for _, asset := range sorted(u.touched) {
		a := u.accounts[asset]
		if err := a.Check(); err != nil { // Invariant: available ≥ 0 and held = Σ holds (I4).
			return fmt.Errorf("account %s would break: %w", a.ID, err)
		}
		if err := a.Save(u.tx); err != nil {
			return err
		}
	}
	if u.frozen {
		if err := u.tx.Replace(store.Users, u.user); err != nil {
			return err
		}
	}
	if err := u.flushOrders(); err != nil {
		return err
	}
	return u.flushRecords()
}

func (u *unit) flushOrders() error {
	for _, id := range sorted(u.placed) {
		if err := u.tx.Insert(store.Orders, u.orders[id]); err != nil {
			return err
		}
	}
	for _, id := range sorted(u.dirty) {
		if err := u.tx.Replace(store.Orders, u.orders[id]); err != nil {
			return err
		}
	}
	for _, id := range sorted(u.fresh) {
		op := u.ops[id]
		if op.Kind == operation.Alert { // the same alarm may come again
			if _, err := operation.Record(u.tx, op); err != nil {
				return err
			}
			continue
		}
		if err := u.tx.Insert(store.Outbox, op); err != nil {
			return fmt.Errorf("record operation %s: %w", op.ID, err)
		}
	}
	for _, id := range sorted(u.changed) {
		if err := u.tx.Replace(store.Outbox, u.ops[id]); err != nil {
			return err
		}
	}
	return nil
}

func (u *unit) flushRecords() error {
	for _, p := range u.postings {
		if err := u.tx.Insert(store.Postings, p); err != nil {
			return err
		}
	}
	for _, e := range u.entries {
		if err := audit.Append(u.tx, e); err != nil {
			return err
		}
	}
	for _, l := range u.links {
		if err := store.Relate(u.tx, l[0], l[1], l[2]); err != nil {
			return err
		}
	}
	return nil
}

func sorted(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
