package main

import (
	"context"
	"fmt"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/loop"
	"offrampbot/services/sandbox"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// sandboxRate is the seeded price of every token, in the currency's own notation.
const sandboxRate = "1500.00"

// rateRefresh keeps the seeded rate young, so that a sandbox left alone still sells.
const rateRefresh = time.Hour

// seedSandbox gives a sandbox database a rate and two members of staff, so that everything can be tried at once. It never
// runs against a production database: the stamp has been checked.
func (a *app) seedSandbox(ctx context.Context) error {
	operator := sandbox.DefaultOperator()
	second := sandbox.DefaultApprover()
	for _, who := range []struct {
		login sandbox.Operator
		role  admin.Role
	}{{operator, admin.Owner}, {second, admin.Approver}} {
		_, err := a.staff.Create(ctx, admin.NewAdmin{
			Email: who.login.Email, Role: who.role, Password: who.login.Password, TOTP: who.login.TOTP, By: "system:sandbox",
		})
		if err != nil && !fault.Is(err, "staff_exists") {
			return fmt.Errorf("seed staff: %w", err)
		}
	}
	if _, err := a.refreshRates(ctx); err != nil {
		return fmt.Errorf("seed rates: %w", err)
	}
	l, err := loop.OfStep(a.refreshRates, nil, now, a.log, loop.Config{Name: "sandbox rates", Idle: rateRefresh / 4})
	return a.add("sandbox rates", l, err)
}

// refreshRates seeds the rates that are missing and makes its own young again when they are old. A rate that somebody
// else has set is left alone, and grows old as in production.
func (a *app) refreshRates(ctx context.Context) (worked bool, err error) {
	err = a.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
		s, err := setting.Load(tx)
		if err != nil {
			return err
		}
		changes := map[string]string{}
		for _, fiat := range a.registry.Fiats() {
			for _, asset := range a.registry.Assets() {
				rate, there := s.Rates[setting.Pair(asset.ID, fiat.Code)]
				switch {
				case !there:
					changes["rate."+asset.ID+"."+fiat.Code] = sandboxRate
				case rate.SetBy == sandboxActor && now().Sub(rate.SetAt) > rateRefresh:
					changes["rate."+asset.ID+"."+fiat.Code] = sandboxRate
				}
			}
		}
		if len(changes) == 0 {
			return nil
		}
		_, err = a.settings.Change(tx, sandboxActor, "seeded by the sandbox", changes, now())
		return err
	})
	return false, err
}

// sandboxActor is who seeds.
const sandboxActor = "system:sandbox"
