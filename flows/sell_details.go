package flows

import (
	"context"
	"slices"
	"strings"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
)

const (
	// newBank is the choice of a bank account that is not on the list yet.
	newBank = "new"
	// nothing is the id of the one option of a list that would be empty, which no client shows.
	nothing = "none"
	// maxAmount is the longest amount that is kept; the field takes 40.
	maxAmount = 60
	// maxID is the longest id of a choice.
	maxID = 80
)

// detailFields have an error slot of their own.
var detailFields = []string{"asset", "sell_amount", "beneficiary", "bank", "account_number"}

// details is the first screen, filled with what is known: what was said in the chat, or typed before.
func (v *visit) details(ctx context.Context, p *problem) (Answer, error) {
	s, err := v.look(ctx)
	if err != nil {
		return Answer{}, err
	}
	known, err := v.prefilled(ctx)
	if err != nil {
		return Answer{}, err
	}
	banks, err := v.list(ctx)
	if err != nil && p == nil {
		p = v.noBanks()
	}
	if bar := v.barred(); bar != nil && p == nil {
		p = v.say(bar, "")
	}
	tokens := v.tokens(s)
	saved := v.accounts(s)
	data := map[string]any{
		"limits_text": short(v.room(s, tokens), maxCaption), "assets": v.orNothing(v.coins(tokens), "flow.assets.none"),
		"asset": chosen(tokens, known), "sell_amount": known["amount"], "beneficiaries": saved, "has_beneficiaries": len(saved) > 1,
		"needs_account": len(saved) == 1, // there is only the choice of a new one
		"account_help":  v.accountHelp(len(saved) > 1),
		"beneficiary":   payTo(saved, known["beneficiary"]), "banks": v.orNothing(v.banks.of(v.fiat.Code, banks), "flow.banks.none"),
	}
	return Answer{Screen: Details, Data: errorsOf(data, p, detailFields...), entry: true, passing: p != nil}, nil
}

// prefilled is what the screen begins with; a renewal begins with the sale that is renewed.
func (v *visit) prefilled(ctx context.Context) (map[string]string, error) {
	known := v.s.Values
	if known["renews"] == "" || known["token"] != "" {
		return known, nil
	}
	o, err := v.d.Orders.Order(ctx, known["renews"])
	if err != nil || o.User != v.s.User {
		return known, ignoreUnknown(err)
	}
	return map[string]string{
		"token": o.Asset + ":" + o.Chain, "amount": o.Amount.Decimal() + " " + o.Asset, "beneficiary": o.Beneficiary.ID,
	}, nil
}

// tokenID names a token in a dropdown.
func tokenID(t assets.Token) string { return t.Asset + ":" + t.Chain }

func (v *visit) coins(tokens []assets.Token) []Option {
	out := make([]Option, 0, len(tokens))
	for _, t := range tokens {
		c, _ := v.d.Registry.Chain(t.Chain)
		out = append(out, Option{ID: tokenID(t), Title: t.Asset + " on " + c.Name})
	}
	return distinct(out)
}

// orNothing is a list, or the one option that says why there is none.
func (v *visit) orNothing(list []Option, key string) []Option {
	if len(list) > 0 {
		return list
	}
	return []Option{{ID: nothing, Title: short(v.text(key, nil), maxTitle)}}
}

// chosen is the token that was chosen before, else the first of the asset and chain that were said, else the first.
func chosen(tokens []assets.Token, known map[string]string) string {
	fits := func(t assets.Token) bool {
		return (known["asset"] == "" || t.Asset == known["asset"]) && (known["chain"] == "" || t.Chain == known["chain"])
	}
	for _, wanted := range []func(assets.Token) bool{
		func(t assets.Token) bool { return tokenID(t) == known["token"] }, fits, func(assets.Token) bool { return true },
	} {
		if i := slices.IndexFunc(tokens, wanted); i >= 0 {
			return tokenID(tokens[i])
		}
	}
	return nothing
}

// accounts lists the person's bank accounts, the last used first, and the choice of a new one.
func (v *visit) accounts(s *survey) []Option {
	out := make([]Option, 0, len(s.saved)+1)
	for _, b := range s.saved {
		masked := " •••• " + b.Last4
		out = append(out, Option{
			ID: b.ID, Title: short(foreign(b.BankName, maxName), maxTitle-length(masked)) + masked, Description: foreign(b.Name, maxName),
		})
	}
	return distinct(append(out, Option{ID: newBank, Title: v.text("flow.account.new", nil), Description: v.text("flow.account.new.how", nil)}))
}

// accountHelp says how long an account number is, and that a saved account needs none.
func (v *visit) accountHelp(hasSaved bool) string {
	key := "flow.account.digits"
	if hasSaved {
		key = "flow.account.digits_if_new"
	}
	return short(v.text(key, map[string]string{"digits": v.digits()}), maxHelper)
}

// payTo is the chosen account, else the one used last.
func payTo(saved []Option, wanted string) string {
	if slices.ContainsFunc(saved, func(o Option) bool { return o.ID == wanted }) {
		return wanted
	}
	return saved[0].ID
}

// takeDetails reads the first screen and makes the quote: from here on its id is the sale (D1).
func (v *visit) takeDetails(ctx context.Context, r Request) (Answer, error) {
	if _, err := v.look(ctx); err != nil {
		return Answer{}, err
	}
	v.keep(r)
	if bar := v.barred(); bar != nil {
		return v.refusal(v.say(bar, "").text), nil
	}
	ask, p, err := v.ask(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	if p == nil {
		_, p, err = v.freeze(ctx, ask)
	}
	if err != nil {
		return Answer{}, err
	}
	if p != nil {
		return v.details(ctx, p)
	}
	return v.offer(ctx, nil)
}

// keep notes what was chosen, so that a screen that is shown again begins with it. An account number is never kept here.
func (v *visit) keep(r Request) {
	for field, name := range map[string]string{"asset": "token", "sell_amount": "amount", "beneficiary": "beneficiary"} {
		typed, _ := r.Field(field)
		longest := maxID
		if field == "sell_amount" {
			longest = maxAmount
		}
		if typed = strings.TrimSpace(typed); length(typed) > longest || foreign(typed, longest) == "" {
			typed = ""
		}
		v.s.Values[name] = typed
	}
	delete(v.s.Values, "ask_second")
	v.s.Values["country"], v.s.Values["language"] = v.user.Country, v.user.Language
}

// ask turns what was typed into what is offered, or says what is wrong.
func (v *visit) ask(ctx context.Context, r Request) (*offramp.Ask, *problem, error) {
	s, err := v.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(v.tokens(s), func(t assets.Token) bool { return tokenID(t) == v.s.Values["token"] })
	if i < 0 {
		return nil, v.unavailable(s), nil
	}
	token := v.tokens(s)[i]
	amount, p, err := v.amount(ctx, s, token)
	if p != nil || err != nil {
		return nil, p, err
	}
	b, account, p, err := v.payee(ctx, r)
	if p != nil || err != nil {
		return nil, p, err
	}
	ask := &offramp.Ask{
		User: v.s.User, Asset: token.Asset, Chain: token.Chain, Amount: amount, Fiat: v.fiat.Code, Beneficiary: b,
		Content: guard.Key(v.d.LookupKey, guard.Content{
			User: v.s.User, Amount: amount, Bank: b.BankCode, Account: string(account), Asset: token.Asset, Chain: token.Chain,
		}),
	}
	if ask.Beneficiary.Sealed, err = v.sealed(ask, account); err != nil {
		return nil, nil, err
	}
	if ask.Renews, err = v.renews(ctx, ask); err != nil {
		return nil, nil, err
	}
	p, err = v.unfunded(ctx, s, ask)
	return ask, p, err
}

// unavailable says why the chosen token is not among those that can be sold.
func (v *visit) unavailable(s *survey) *problem {
	asset, chain, _ := strings.Cut(v.s.Values["token"], ":")
	off := s.set.AllowPlacing(v.s.Values["renews"] == "", chain, asset, "", v.fiat.Country)
	if _, ok := v.d.Registry.Token(asset, chain); ok && off != nil {
		return v.say(off, "asset")
	}
	return v.say(fault.New("asset_unsupported", nil).With("supported", v.d.Registry.Supported()), "asset")
}

// freeze makes the quote, with a fresh id: what the session confirms from now on. What an earlier quote showed on the PIN
// screen may not be confirmed any more.
func (v *visit) freeze(ctx context.Context, ask *offramp.Ask) (*quote.Quote, *problem, error) {
	s, err := v.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	if ask.Intent, err = newIntent(); err != nil {
		return nil, nil, err
	}
	q, err := v.d.Orders.Offer(ctx, *ask)
	switch {
	case fault.Is(err, "amount_below_minimum"):
		return nil, v.say(err, "sell_amount"), nil
	case err != nil && fault.As(err).Kind == fault.Internal:
		return nil, nil, err
	case err != nil:
		return nil, v.say(err, ""), nil
	}
	if p := v.exceeded(s, q); p != nil {
		return nil, p, nil
	}
	v.s.Hide(CryptoReview)
	return q, nil, v.note(q)
}

// sealed seals the account number for the quote's snapshot.
func (v *visit) sealed(ask *offramp.Ask, account payout.AccountNumber) ([]byte, error) {
	return v.d.Box.Seal([]byte(string(account)), ask.Beneficiary.Record())
}

// renews is the overdue order that an ask renews: the same thing to the same account. Anything else is a new sale.
func (v *visit) renews(ctx context.Context, ask *offramp.Ask) (string, error) {
	id := v.s.Values["renews"]
	if id == "" {
		return "", nil
	}
	o, err := v.d.Orders.Order(ctx, id)
	if err != nil {
		return "", ignoreUnknown(err)
	}
	same := o.User == ask.User && o.State == offramp.Overdue && o.Asset == ask.Asset && o.Chain == ask.Chain &&
		o.Amount == ask.Amount && o.Beneficiary.Digest == ask.Beneficiary.Digest
	if !same {
		return "", nil
	}
	return id, nil
}
