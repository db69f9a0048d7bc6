package main

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"offrampbot/services/admin"
	"offrampbot/services/config"
	"offrampbot/services/invariant"
	"offrampbot/services/reconcile"
	"offrampbot/services/story"
	"offrampbot/webhooks"
	"offrampbot/webhooks/pages"
)

// plainCookie: only a sandbox is served on plain http, and only its cookie goes without Secure.
func (a *app) plainCookie() bool { return a.cfg.App.Env == config.Sandbox }

// reconcileWindow is how far back the pages compare statements, as the command does.
const reconcileWindow = 7 * 24 * time.Hour

// checks are what the commands verify and reconcile do, for the pages.
type checks struct {
	*invariant.Checker
	a *app
}

func (c checks) Reconcile(ctx context.Context) (reconcile.Report, error) {
	r, err := c.a.reconciler(reconcileWindow)
	if err != nil {
		return reconcile.Report{}, err
	}
	return r.Reconcile(ctx)
}

// addPages gives the edge the operator's pages.
func (a *app) addPages(tales *story.Story, deps *webhooks.Deps) error {
	checker, err := invariant.New(a.db, a.registry)
	if err != nil {
		return err
	}
	p, err := pages.New(pages.Deps{
		Staff: a.staff, Reads: tales, Changes: tales, Checker: checks{checker, a}, Cookies: webhooks.Cookies{Plain: a.plainCookie()}, Texts: a.texts,
		Registry: a.registry, Log: a.log, Now: now, Key: uuid.NewString,
	}, pages.Config{Sandbox: a.cfg.App.Env == config.Sandbox})
	if err != nil {
		return err
	}
	for _, one := range p.Table() {
		deps.Pages = append(deps.Pages, webhooks.AdminPage{
			Method: one.Method, Path: one.Path, Permission: one.Permission, Handle: one.Handle,
		})
	}
	deps.Refuse = func(w http.ResponseWriter, r *http.Request, who admin.Identity, why webhooks.Refusal) {
		p.Refuse(w, r, who, why.Code, why.Status, why.Message)
	}
	return nil
}
