package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"offrampbot/flows"
	flowsjson "offrampbot/flows_json"
	"offrampbot/services/money"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/user"
	"offrampbot/services/whatsapp"
)

// openEndpoint makes the one data endpoint of all forms.
func (a *app) openEndpoint(tokens *flows.Tokens) error {
	keys, err := flows.NewKeys(a.cfg.Flow.PrivateKey.Bytes(), a.cfg.Flow.PrivateKeyPrevious.Bytes())
	if err != nil {
		return fmt.Errorf("FLOW_PRIVATE_KEY: %w", err)
	}
	beneficiaries, err := user.NewBeneficiaries(a.sealer, a.lookupKey(), now)
	if err != nil {
		return err
	}
	sell, err := flows.NewSell(flows.SellDeps{
		Engine: a.db, Orders: a.orders, Price: price{a}, Banks: a.rails["paystack"], PINs: pins{a}, Guard: a.guard,
		Beneficiaries: beneficiaries, Box: a.sealer, Registry: a.registry, Texts: a.texts, Blocks: a.metrics, Log: a.log, Now: now, LookupKey: a.lookupKey(),
	})
	if err != nil {
		return err
	}
	signUp, err := flows.NewSignUp(a.db, a.users, a.texts, countryName)
	if err != nil {
		return err
	}
	a.endpoint, err = flows.NewEndpoint(flows.Deps{
		Keys: keys, Tokens: tokens, Secrets: secrets(a.cfg.WhatsApp.AppSecret, a.cfg.WhatsApp.AppSecretPrevious), Engine: a.db,
		Sealer: a.sealer, Flows: map[string]flows.Screens{"offramp_flow": sell, "sign_up": signUp}, Now: now, Log: a.log,
		PhoneID: a.cfg.WhatsApp.PhoneNumberID, TokenGone: func(context.Context) string { return a.texts.Render("en", "flow.gone", nil) },
	})
	return err
}

// countryName is a country as people call it.
func countryName(code string) string {
	region, err := language.ParseRegion(code)
	if err != nil {
		return code
	}
	return display.English.Regions().Name(region)
}

// price is the operator's rate now, for amounts typed in fiat.
type price struct{ a *app }

func (p price) Price(ctx context.Context, asset, _, fiat string) (rate money.Rate, err error) {
	err = p.a.db.View(ctx, func(_ context.Context, r store.Reader) error {
		s, err := setting.Load(r)
		if err != nil {
			return err
		}
		found, err := s.Price(asset, fiat, now())
		rate = found.Rate
		return err
	})
	return rate, err
}

// flowTargets names the published forms by their documents.
func flowTargets() map[string]whatsapp.FlowTarget {
	out := map[string]whatsapp.FlowTarget{}
	for _, name := range flowsjson.Names() {
		out[name] = whatsapp.FlowTarget{Name: name}
	}
	return out
}

// templates are the approved templates that carry money notices outside the 24-hour window, with their arguments in order.
func templates() map[string]whatsapp.TemplateForm {
	sale := []string{"reference", "net"}
	return map[string]whatsapp.TemplateForm{
		"sale_paid": {Args: sale}, "sale_failed": {Args: sale}, "sale_returned": {Args: sale}, "sale_checking": {Args: sale},
		"sale_overdue": {Args: []string{"reference"}}, "sale_started": {Args: sale},
		"deposit_credited": {Args: []string{"received", "chain"}}, "deposit_reverted": {Args: []string{"received", "chain"}},
	}
}

// pins checks PINs, and lets a person whose identity changed sell again once the PIN is given and the cool-down is over.
type pins struct{ a *app }

func (p pins) CheckPIN(ctx context.Context, userID string, pin user.TypedPIN, channel string) error {
	return p.a.users.CheckPIN(ctx, userID, pin, channel)
}

func (p pins) Reauthenticated(ctx context.Context, userID string) (wait time.Duration, err error) {
	err = p.a.orders.Freed(ctx, userID, func(tx store.Tx) (thawed bool, err error) {
		thawed, wait, err = p.a.users.Reauthenticated(tx, userID, true)
		return thawed, err
	})
	return wait, err
}
