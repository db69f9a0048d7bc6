package flows

import (
	"context"
	"errors"
	"strings"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// newBank is the choice of a bank account that is not on the list yet.
const newBank = "new"

// detailFields have an error slot of their own.
var detailFields = []string{"asset", "sell_amount", "beneficiary", "bank", "account_number"}

// details is the first screen, filled with what is known: what was said in the chat, or typed before.
func (v *visit) details(ctx context.Context, p *problem) (Answer, error) {
	data := map[string]any{"asset": v.token(), "sell_amount": v.s.Values["amount"]}
	var tokens []any
	for _, a := range v.d.Registry.Assets() {
		for _, c := range v.d.Registry.ChainsOf(a.ID) {
			t, _ := v.d.Registry.Token(a.ID, c.ID)
			tokens = append(tokens, option(tokenID(t), short(a.ID+" on "+c.Name, 30), ""))
		}
	}
	data["assets"] = tokens
	saved, err := v.saved(ctx)
	if err != nil {
		return Answer{}, err
	}
	data["beneficiaries"], data["beneficiary"], data["has_beneficiaries"] = saved, v.beneficiary(saved), len(saved) > 1
	banks, err := v.d.Banks.Banks(ctx, v.fiat.Code)
	if err != nil && p == nil {
		p = v.say(err, "")
	}
	var list []any
	for _, b := range banks {
		if len(list) < 200 { // the most that a dropdown may hold
			list = append(list, option(b.Code, short(b.Name, 30), ""))
		}
	}
	if len(list) == 0 { // a dropdown must not be empty
		list = append(list, option("none", "No bank available", ""))
	}
	data["banks"] = list
	data["limits_text"] = v.balanceText(ctx)
	return Answer{Screen: Details, Data: errorsOf(data, p, detailFields...)}, nil
}

func option(id, title, description string) map[string]any {
	o := map[string]any{"id": id, "title": title}
	if description != "" {
		o["description"] = description
	}
	return o
}

// token is the chosen token, else the first of the asset and chain that were said, else the first of all.
func (v *visit) token() string {
	if id := v.s.Values["token"]; id != "" {
		return id
	}
	asset, chain := v.s.Values["asset"], v.s.Values["chain"]
	for _, a := range v.d.Registry.Assets() {
		for _, c := range v.d.Registry.ChainsOf(a.ID) {
			if (asset == "" || a.ID == asset) && (chain == "" || c.ID == chain) {
				t, _ := v.d.Registry.Token(a.ID, c.ID)
				return tokenID(t)
			}
		}
	}
	t := v.d.Registry.TokensOf(v.d.Registry.Chains()[0].ID)[0]
	return tokenID(t)
}

// saved lists the person's bank accounts, and the choice of a new one.
func (v *visit) saved(ctx context.Context) ([]any, error) {
	var out []any
	err := v.d.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
		out = nil
		all, err := v.d.Beneficiaries.List(r, v.user.ID, 19)
		for _, b := range all {
			if b.Fiat == v.fiat.Code {
				out = append(out, option(b.ID, short(b.Name, 30), b.BankName+" ****"+b.Last4))
			}
		}
		return err
	})
	return append(out, option(newBank, "Another bank account", "")), err
}

// beneficiary is the chosen account, else the first of the list.
func (v *visit) beneficiary(saved []any) string {
	chosen := v.s.Values["beneficiary"]
	for _, o := range saved {
		if id, _ := o.(map[string]any)["id"].(string); chosen == "" || id == chosen {
			return id
		}
	}
	return newBank
}

func (v *visit) balanceText(ctx context.Context) string {
	var parts []string
	for _, a := range v.d.Registry.Assets() {
		if c, err := v.d.Orders.Cover(ctx, v.user.ID, a.ID); err == nil && c.Available > 0 {
			parts = append(parts, money.FormatMicro(c.Available)+" "+a.ID)
		}
	}
	if len(parts) == 0 {
		return v.d.Texts.Render(v.user.Language, "flow.balance.none", nil)
	}
	return v.d.Texts.Render(v.user.Language, "flow.balance", map[string]string{"balance": strings.Join(parts, " · ")})
}

// takeDetails reads the first screen and makes the quote: from here on its id is the sale (D1).
func (v *visit) takeDetails(ctx context.Context, r Request) (Answer, error) {
	for field, name := range map[string]string{
		"asset": "token", "sell_amount": "amount", "beneficiary": "beneficiary", "bank_code": "bank_code",
	} {
		if s, ok := r.Field(field); ok {
			v.s.Values[name] = strings.TrimSpace(s)
		}
	}
	ask, account, p, err := v.ask(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	if p != nil {
		return v.details(ctx, p)
	}
	if ask.Intent, err = intentFor(); err != nil {
		return Answer{}, err
	}
	if ask.Beneficiary.Sealed, err = v.sealedFor(ask.Beneficiary, account); err != nil {
		return Answer{}, err
	}
	q, err := v.d.Orders.Offer(ctx, *ask)
	if err != nil {
		field := ""
		if fault.Is(err, "amount_below_minimum") {
			field = "sell_amount"
		}
		return v.details(ctx, v.say(err, field))
	}
	v.s.Intent = q.ID
	return v.review(ctx, FiatReview, nil)
}

// ask turns what was typed into what is offered, or says what is wrong.
func (v *visit) ask(ctx context.Context, r Request) (*offramp.Ask, payout.AccountNumber, *problem, error) {
	asset, chain, _ := strings.Cut(v.s.Values["token"], ":")
	token, ok := v.d.Registry.Token(asset, chain)
	if !ok {
		return nil, "", v.say(fault.New("asset_unsupported", nil).With("supported", v.d.Registry.Supported()), "asset"), nil
	}
	amount, p, err := v.amount(ctx, token)
	if p != nil || err != nil {
		return nil, "", p, err
	}
	b, account, p, err := v.payee(ctx, r)
	if p != nil || err != nil {
		return nil, "", p, err
	}
	ask := &offramp.Ask{
		User: v.user.ID, Asset: token.Asset, Chain: token.Chain, Amount: amount, Fiat: v.fiat.Code, Beneficiary: b,
		Content: guard.Key(v.d.LookupKey, guard.Content{
			User: v.user.ID, Amount: amount, Bank: b.BankCode, Account: string(account), Asset: token.Asset, Chain: token.Chain,
		}),
	}
	ask.Renews, err = v.renews(ctx, ask)
	return ask, account, nil, err
}

// amount reads the typed amount: of the token, of fiat at the rate now, or a share of what is there.
func (v *visit) amount(ctx context.Context, token assets.Token) (money.Micro, *problem, error) {
	bare := money.Unit{ID: token.Asset, Kind: money.Token, Decimals: money.MicroDecimals}
	parsed, err := money.Parse(v.s.Values["amount"], money.ParseContext{Units: v.d.Registry.Units(), Bare: &bare})
	if errors.Is(err, money.ErrAmbiguous) && len(parsed.Candidates) == 2 {
		return 0, v.say(fault.New("amount_ambiguous", err).With("first", parsed.Candidates[0].Text).
			With("second", parsed.Candidates[1].Text), "sell_amount"), nil
	}
	if err != nil || parsed.Kind == money.Token && parsed.Unit != "" && parsed.Unit != token.Asset ||
		parsed.Kind == money.Fiat && parsed.Unit != v.fiat.Code {
		return 0, v.say(fault.New("amount_invalid", err), "sell_amount"), nil
	}
	switch parsed.Kind {
	case money.Fiat:
		return v.forFiat(ctx, token, money.Minor(parsed.Value))
	case money.Half, money.All:
		c, err := v.d.Orders.Cover(ctx, v.user.ID, token.Asset)
		if parsed.Kind == money.Half {
			c.Available /= 2
		}
		if err == nil && c.Available == 0 {
			return 0, v.say(fault.New("amount_invalid", nil), "sell_amount"), nil
		}
		return c.Available, nil, err
	default:
		return money.Micro(parsed.Value), nil, nil
	}
}

// forFiat is the smallest amount of crypto whose worth reaches the fiat that was typed.
func (v *visit) forFiat(ctx context.Context, token assets.Token, fiat money.Minor) (money.Micro, *problem, error) {
	rate, err := v.d.Price.Price(ctx, token.Asset, token.Chain, v.fiat.Code)
	if err != nil {
		return 0, v.say(err, ""), nil
	}
	amount, err := rate.Cost(fiat)
	if err != nil {
		return 0, v.say(fault.New("amount_invalid", err), "sell_amount"), nil
	}
	return amount, nil, nil
}

// payee is the bank account to be paid: a saved one, or one whose holder the bank has just named.
func (v *visit) payee(ctx context.Context, r Request) (quote.Beneficiary, payout.AccountNumber, *problem, error) {
	if id := v.s.Values["beneficiary"]; id != "" && id != newBank {
		return v.known(ctx, id)
	}
	bank, p, err := v.bank(ctx)
	if p != nil || err != nil {
		return quote.Beneficiary{}, "", p, err
	}
	typed, _ := r.Field("account_number")
	account := payout.AccountNumber(strings.Join(strings.Fields(typed), ""))
	if len(account) != v.fiat.AccountDigits || strings.Trim(string(account), "0123456789") != "" {
		return quote.Beneficiary{}, "", v.say(fault.New("account_number_invalid", nil).With("digits", itoa(v.fiat.AccountDigits)), "account_number"), nil
	}
	name, err := v.d.Banks.ResolveAccount(ctx, v.fiat.Code, bank.Code, account)
	if err != nil {
		field := ""
		if fault.Is(err, "account_not_found") {
			field = "account_number"
		}
		return quote.Beneficiary{}, "", v.say(err, field), nil
	}
	b := quote.Beneficiary{
		ID: v.d.Beneficiaries.ID(v.user.ID, bank.Code, account), BankCode: bank.Code, BankName: bank.Name, Last4: account.Last4(),
		Name: name, Digest: v.d.Beneficiaries.Digest(bank.Code, account),
	}
	b.Since, err = v.since(ctx, b.ID)
	return b, account, nil, err
}

// since is when an account was saved, zero when it is new.
func (v *visit) since(ctx context.Context, id string) (at time.Time, err error) {
	err = v.d.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
		b, err := v.d.Beneficiaries.Get(r, v.user.ID, id)
		if err != nil {
			if fault.As(err).Kind == fault.NotFound {
				return nil
			}
			return err
		}
		at = b.CreatedAt
		return nil
	})
	return at, err
}

func (v *visit) bank(ctx context.Context) (payout.Bank, *problem, error) {
	banks, err := v.d.Banks.Banks(ctx, v.fiat.Code)
	if err != nil {
		return payout.Bank{}, v.say(err, ""), nil
	}
	for _, b := range banks {
		if b.Code == v.s.Values["bank_code"] {
			return b, nil, nil
		}
	}
	return payout.Bank{}, v.say(fault.New("bank_unknown", nil), "bank"), nil
}

// known is a saved account; its holder is asked for again, so that a closed account is noticed (D28).
func (v *visit) known(ctx context.Context, id string) (quote.Beneficiary, payout.AccountNumber, *problem, error) {
	var b *user.Beneficiary
	err := v.d.Engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		b, err = v.d.Beneficiaries.Get(r, v.user.ID, id)
		return err
	})
	if err != nil {
		if fault.As(err).Kind == fault.NotFound {
			return quote.Beneficiary{}, "", v.say(err, ""), nil
		}
		return quote.Beneficiary{}, "", nil, err
	}
	account, err := v.d.Beneficiaries.Number(b)
	if err != nil {
		return quote.Beneficiary{}, "", nil, err
	}
	name := b.Name
	if now, err := v.d.Banks.ResolveAccount(ctx, v.fiat.Code, b.BankCode, account); err == nil {
		name = now
	} else if fault.Is(err, "account_not_found") {
		return quote.Beneficiary{}, "", v.say(err, ""), nil
	}
	return quote.Beneficiary{
		ID: b.ID, BankCode: b.BankCode, BankName: b.BankName, Last4: b.Last4, Name: name, Digest: b.Digest, Since: b.CreatedAt,
	}, account, nil, nil
}

// prefill fills the first screen with the overdue sale that is renewed.
func (v *visit) prefill(ctx context.Context) error {
	o, err := v.d.Orders.Order(ctx, v.s.Values["renews"])
	if err != nil || o.User != v.user.ID {
		delete(v.s.Values, "renews")
		return ignoreUnknown(err)
	}
	v.s.Values["token"] = o.Asset + ":" + o.Chain
	v.s.Values["amount"] = o.Amount.Decimal() + " " + o.Asset
	v.s.Values["beneficiary"] = o.Beneficiary.ID
	return nil
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

func ignoreUnknown(err error) error {
	if fault.Is(err, "order_unknown") {
		return nil
	}
	return err
}
