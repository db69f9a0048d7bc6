package flows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// SellDeps is what the sell form needs; all are required.
type SellDeps struct {
	Engine        store.Engine
	Orders        Orders
	Price         Pricer
	Banks         Banks
	PINs          PINs
	Guard         Guard
	Beneficiaries *user.Beneficiaries
	Box           Box
	Registry      *assets.Registry
	Texts         Texts
	Blocks        Blocks
	Log           *slog.Logger
	Now           func() time.Time
	LookupKey     []byte
}

// Sell answers the sell form: details, review, PIN, and its three endings.
type Sell struct {
	d     SellDeps
	zones map[string]*time.Location // by fiat
	banks bankLists
}

// NewSell checks its dependencies.
func NewSell(d SellDeps) (*Sell, error) {
	for name, missing := range map[string]bool{
		"Engine": d.Engine == nil, "Orders": d.Orders == nil, "Price": d.Price == nil, "Banks": d.Banks == nil, "PINs": d.PINs == nil,
		"Guard": d.Guard == nil, "Beneficiaries": d.Beneficiaries == nil, "Box": d.Box == nil, "Registry": d.Registry == nil,
		"Texts": d.Texts == nil, "Blocks": d.Blocks == nil, "Log": d.Log == nil, "Now": d.Now == nil, "LookupKey": len(d.LookupKey) == 0,
	} {
		if missing {
			return nil, errors.New("sell form: " + name + " is missing")
		}
	}
	f := &Sell{d: d, zones: map[string]*time.Location{}}
	for _, fiat := range d.Registry.Fiats() {
		zone, err := time.LoadLocation(fiat.Zone)
		if err != nil {
			return nil, fmt.Errorf("sell form: zone of %s: %w", fiat.Code, err)
		}
		f.zones[fiat.Code] = zone
	}
	return f, nil
}

// The screens of the sell form.
const (
	Details      = "OFFRAMP_DETAILS"
	FiatReview   = "OFFRAMP_FIAT_REVIEW"
	CryptoReview = "OFFRAMP_CRYPTO_REVIEW"
	Sold         = "OFFRAMP_SUCCESS"
	Checking     = "OFFRAMP_CHECKING"
	Refused      = "OFFRAMP_REFUSED"
)

// visit is one request of one person on the sell form.
type visit struct {
	*Sell
	sayer
	s     *Session
	fiat  assets.Fiat
	now   time.Time
	typed Request // what was submitted; for the net below the log, see say

	user   *user.User // nil on a screen that only shows an offer, see glance
	survey *survey    // see look
}

// visit begins the answer to a request: language and currency are those of the person, or those that the session noted
// when the person filled the first screen.
func (f *Sell) visit(s *Session) *visit {
	if s.Values == nil {
		s.Values = map[string]string{}
	}
	v := &visit{Sell: f, s: s, now: f.d.Now().UTC().Truncate(time.Millisecond)}
	v.is(s.Values["country"], s.Values["language"])
	return v
}

// is fixes the currency and the language.
func (v *visit) is(country, language string) {
	v.sayer = sayer{v.d.Texts, language}
	var ok bool
	if v.fiat, ok = v.d.Registry.FiatOf(country); !ok {
		v.fiat = v.d.Registry.Fiats()[0]
	}
}

// meet loads the person.
func (v *visit) meet(r store.Reader) (err error) {
	v.user, err = user.Load(r, v.s.User)
	if fault.Is(err, "user_unknown") {
		return ErrTokenGone
	}
	if err == nil {
		v.is(v.user.Country, v.user.Language)
	}
	return err
}

// enter is a visit of somebody who is loaded.
func (f *Sell) enter(ctx context.Context, s *Session) (*visit, error) {
	v := f.visit(s)
	return v, f.d.Engine.View(ctx, func(_ context.Context, r store.Reader) error { return v.meet(r) })
}

// glance is a visit that only shows an offer: it spares loading the person.
func (f *Sell) glance(ctx context.Context, s *Session) (*visit, error) {
	if s.Values["country"] == "" {
		return f.enter(ctx, s)
	}
	return f.visit(s), nil
}

// Acts is true for the confirmation: it counts a PIN and places an order.
func (f *Sell) Acts(r Request) bool { return r.Action == ActionExchange && r.Screen == CryptoReview }

// Init shows the first screen; that of a renewal is filled with the sale that is renewed.
func (f *Sell) Init(ctx context.Context, s *Session) (Answer, error) {
	return f.visit(s).details(ctx, nil)
}

// Back shows a screen again that the person went back to: the one before the screen that was left.
func (f *Sell) Back(ctx context.Context, s *Session, r Request) (Answer, error) {
	if r.Screen != CryptoReview || s.Intent == "" {
		return f.visit(s).details(ctx, nil)
	}
	v, err := f.glance(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	return v.offer(ctx, nil)
}

// Submit handles a footer.
func (f *Sell) Submit(ctx context.Context, s *Session, r Request) (Answer, error) {
	enter := f.enter
	switch {
	case r.Screen == Details: // the entry, which is shown without being noted
		v := f.visit(s)
		v.typed = r
		return v.takeDetails(ctx, r)
	case r.Screen != CryptoReview || !s.HasShown(CryptoReview):
		enter = f.glance
	}
	v, err := enter(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	v.typed = r
	switch {
	case !s.HasShown(r.Screen): // a person cannot be there: show where the session is
		return v.again(ctx)
	case r.Screen == FiatReview:
		return v.acceptOffer(ctx)
	case r.Screen == CryptoReview:
		return v.confirm(ctx, r)
	default:
		return v.again(ctx)
	}
}

// Repeat answers a copy of the confirmation: it is refused in the guard's exact words, whoever of the copies came first
// (R55, R66), once there is an order. Until then it waits like any other copy: the first one may still find a wrong PIN,
// and a process that ended in the middle leaves nobody who would finish what "in progress" promises. Other screens follow
// the ordinary rule.
func (f *Sell) Repeat(ctx context.Context, s *Session, r Request) (Answer, bool, error) {
	if !f.Acts(r) || s.Intent == "" {
		return Answer{}, false, nil
	}
	if s.State == SessionOpen && s.Working == "" { // the copy of a wrong PIN gets its own answer again
		return Answer{}, false, nil
	}
	v, err := f.glance(ctx, s)
	if err != nil {
		return Answer{}, false, err
	}
	if s.Working != "" { // one of the copies is at it, or its process has ended in the middle
		if placed, err := v.isPlaced(ctx); err != nil || !placed {
			return Answer{}, false, err
		}
	}
	a, err := v.duplicate(ctx)
	return a, err == nil, err
}

// again shows where the session is.
func (v *visit) again(ctx context.Context) (Answer, error) {
	switch {
	case v.s.Intent != "" && v.s.Screen == FiatReview:
		return v.offer(ctx, nil)
	case v.s.Intent != "" && v.s.Screen == CryptoReview:
		return v.askPIN(ctx, nil)
	default:
		return v.details(ctx, nil)
	}
}

// say renders a fault for this person.
func (v *visit) say(err error, field string) *problem {
	f := fault.As(err)
	if f.Kind == fault.Internal {
		v.d.Log.Error("sell form failed", "code", f.Code, "error", v.typed.Scrub(err.Error()), "user", v.s.User)
	}
	return v.fault(f, field, v.faultArgs(f))
}

// faultArgs are the arguments of a fault as its text wants them: limits come in minor units.
func (v *visit) faultArgs(f *fault.Error) map[string]string {
	args := map[string]string{}
	for k, a := range f.Args {
		args[k] = a
	}
	if f.Kind == fault.Limited {
		for _, name := range []string{"limit", "left"} {
			if n, ok := args[name]; ok {
				if minor, err := money.ParseDecimal(n, 0); err == nil && minor.IsInt64() {
					args[name+"_text"] = v.cash(money.Minor(minor.Int64()))
				}
			}
		}
	}
	return args
}

// cash writes an amount of the person's own currency.
func (v *visit) cash(n money.Minor) string {
	return money.FormatMinor(n, v.fiat.Exponent, v.fiat.Symbol)
}

// clock writes a time as the person's clock shows it.
func (v *visit) clock(at time.Time) string { return at.In(v.zones[v.fiat.Code]).Format("15:04 MST") }
