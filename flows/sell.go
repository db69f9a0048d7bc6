package flows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/ids"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// Orders is what the sell form asks of the order service.
type Orders interface {
	Offer(ctx context.Context, ask offramp.Ask) (*quote.Quote, error)
	Quote(ctx context.Context, userID, intent string) (*quote.Quote, error)
	Place(ctx context.Context, p offramp.Placing) (*offramp.Order, error)
	Order(ctx context.Context, id string) (*offramp.Order, error)
	Cover(ctx context.Context, userID, asset string) (offramp.Cover, error)
}

// Pricer gives the price now, for an amount that was typed in fiat.
type Pricer interface {
	Price(ctx context.Context, asset, chain, fiat string) (money.Rate, error)
}

// Banks lists banks and resolves account holders; it answers from a cache or within two seconds.
type Banks interface {
	Banks(ctx context.Context, currency string) ([]payout.Bank, error)
	ResolveAccount(ctx context.Context, currency, bankCode string, account payout.AccountNumber) (string, error)
}

// PINs checks a PIN, counted before it is compared.
type PINs interface {
	CheckPIN(ctx context.Context, userID string, pin user.TypedPIN, channel string) error
	// Reauthenticated records that a person whose number or identity changed gave the right PIN, and says how long the
	// cool-down still runs; zero: the person is free again, or was never frozen for it.
	Reauthenticated(ctx context.Context, userID string) (wait time.Duration, err error)
}

// Guard claims a sale's content before the PIN is counted (DESIGN §9).
type Guard interface {
	Claim(ctx context.Context, digest string, channel guard.Channel, intent string, now time.Time) (guard.Decision, error)
	ClaimSecond(ctx context.Context, digest string, channel guard.Channel, intent string, now time.Time) (guard.Decision, error)
	Free(ctx context.Context, digest, intent string)
}

// Box seals account numbers; record is the associated data.
type Box interface {
	Seal(plain []byte, record string) ([]byte, error)
	Open(sealed []byte, record string) ([]byte, error)
}

// Blocks counts refused copies; obs.Metrics is one.
type Blocks interface {
	DuplicateBlocked(channel string)
}

// Texts renders what people read.
type Texts interface {
	Render(lang, key string, args map[string]string) string
}

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
type Sell struct{ d SellDeps }

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
	return &Sell{d: d}, nil
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
	s    *Session
	user *user.User
	fiat assets.Fiat
	now  time.Time
}

// enter loads the person and what depends on the country.
func (f *Sell) enter(ctx context.Context, s *Session) (*visit, error) {
	v := &visit{Sell: f, s: s, now: f.d.Now().UTC().Truncate(time.Millisecond)}
	err := f.d.Engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		v.user, err = user.Load(r, s.User)
		return err
	})
	if err != nil {
		return nil, err
	}
	var ok bool
	if v.fiat, ok = f.d.Registry.FiatOf(v.user.Country); !ok {
		v.fiat = f.d.Registry.Fiats()[0]
	}
	if s.Values == nil {
		s.Values = map[string]string{}
	}
	return v, nil
}

// Init shows the first screen; that of a renewal is filled with the sale that is renewed.
func (f *Sell) Init(ctx context.Context, s *Session) (Answer, error) {
	v, err := f.enter(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	if s.Values["renews"] != "" && s.Values["token"] == "" {
		if err := v.prefill(ctx); err != nil {
			return Answer{}, err
		}
	}
	return v.details(ctx, nil)
}

// Back shows a screen again that the person went back to.
func (f *Sell) Back(ctx context.Context, s *Session, r Request) (Answer, error) {
	v, err := f.enter(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	if r.Screen == CryptoReview && s.Intent != "" {
		return v.review(ctx, FiatReview, nil)
	}
	return v.details(ctx, nil)
}

// Submit handles a footer.
func (f *Sell) Submit(ctx context.Context, s *Session, r Request) (Answer, error) {
	v, err := f.enter(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	if !s.HasShown(r.Screen) { // a person cannot be there: show where the session is
		return v.again(ctx)
	}
	switch r.Screen {
	case Details:
		return v.takeDetails(ctx, r)
	case FiatReview:
		return v.review(ctx, CryptoReview, nil)
	case CryptoReview:
		return v.confirm(ctx, r)
	default:
		return v.again(ctx)
	}
}

// Repeat answers a copy of the confirmation: it is refused in the guard's exact words, whoever of the copies came first
// (R55, R66). Other screens follow the ordinary rule.
func (f *Sell) Repeat(ctx context.Context, s *Session, r Request) (Answer, bool, error) {
	if r.Screen != CryptoReview || r.Action != ActionExchange || s.Intent == "" {
		return Answer{}, false, nil
	}
	if s.State == SessionOpen && s.Working == "" { // the copy of a wrong PIN gets its own answer again
		return Answer{}, false, nil
	}
	v, err := f.enter(ctx, s)
	if err != nil {
		return Answer{}, false, err
	}
	a, err := v.duplicate(ctx)
	return a, err == nil, err
}

// again shows where the session is.
func (v *visit) again(ctx context.Context) (Answer, error) {
	if v.s.Intent != "" && (v.s.Screen == FiatReview || v.s.Screen == CryptoReview) {
		return v.review(ctx, v.s.Screen, nil)
	}
	return v.details(ctx, nil)
}

// problem is what is wrong with a screen's input: at a field, or at the top.
type problem struct {
	field string
	text  string
}

// say renders a fault for this person.
func (v *visit) say(err error, field string) *problem {
	f := fault.As(err)
	row := fault.RowOf(f.Code)
	if f.Kind == fault.Internal {
		v.d.Log.Error("sell form failed", "error", err.Error(), "user", v.user.ID)
	}
	args := map[string]string{}
	for k, a := range f.Args {
		args[k] = a
	}
	for _, name := range []string{"limit", "left"} { // limits come in minor units
		if n, ok := args[name]; ok {
			if minor, err := money.ParseDecimal(n, 0); err == nil && minor.IsInt64() {
				args[name+"_text"] = money.FormatMinor(money.Minor(minor.Int64()), v.fiat.Exponent, v.fiat.Symbol)
			}
		}
	}
	return &problem{field: field, text: v.d.Texts.Render(v.user.Language, row.Message, args)}
}

// errorsOf fills the error convention of a screen: has_error and error_message at the top, and each field's own slot.
func errorsOf(data map[string]any, p *problem, fields ...string) map[string]any {
	data["has_error"], data["error_message"] = false, ""
	for _, f := range fields {
		data[f+"_error"] = ""
	}
	if p == nil {
		return data
	}
	if slices.Contains(fields, p.field) {
		data[p.field+"_error"] = short(p.text, 30)
	}
	data["has_error"], data["error_message"] = true, p.text
	return data
}

// short bounds a text for a field's error slot.
func short(s string, n int) string {
	r := []rune(strings.NewReplacer("*", "", "_", "").Replace(s))
	if len(r) <= n {
		return string(r)
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}

// tokenID names a token in a dropdown.
func tokenID(t assets.Token) string { return t.Asset + ":" + t.Chain }

// intentFor makes the id of the next quote of a session: a fresh one for each review.
func intentFor() (string, error) { return ids.NewIntent() }

// sealedFor seals an account number for a quote.
func (v *visit) sealedFor(b quote.Beneficiary, account payout.AccountNumber) ([]byte, error) {
	sealed, err := v.d.Box.Seal([]byte(string(account)), b.Record())
	if err != nil {
		return nil, fmt.Errorf("seal account number: %w", err)
	}
	return sealed, nil
}
