package pages

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
)

// view is what the layout shows around a page.
type view struct {
	Title   string
	Who     admin.Identity
	Menu    []menuItem
	Sandbox bool
	Done    string // what a form has just done
	Problem string // why a form has done nothing
	Now     time.Time
	Page    any
}

// menuItem is one link of the navigation.
type menuItem struct {
	Label, Path string
	Needs       admin.Permission // empty: everybody who may read
	Here        bool
}

// menu lists the pages in the order in which a day's work goes.
var menu = []menuItem{
	{Label: "Overview", Path: "/admin/"},
	{Label: "Orders", Path: "/admin/orders"},
	{Label: "Review", Path: "/admin/review"},
	{Label: "Parked", Path: "/admin/parked"},
	{Label: "Duplicates", Path: "/admin/duplicates"},
	{Label: "Users", Path: "/admin/users"},
	{Label: "Deposits", Path: "/admin/deposits"},
	{Label: "Ledger", Path: "/admin/ledger"},
	{Label: "Settings", Path: "/admin/settings"},
	{Label: "Audit", Path: "/admin/audit"},
	{Label: "Verify", Path: "/admin/verify"},
	{Label: "Staff", Path: "/admin/staff", Needs: admin.ManageStaff},
}

// done are the sentences that a page shows after a form was carried out. The address holds only their names, so nobody
// can put words of their own on a page with a link.
var done = map[string]string{
	"asked":    "Your request is open. Another person decides it on the review page.",
	"approved": "Approved and carried out.",
	"rejected": "Rejected. The order was not touched.",
	"declined": "Rejected. No setting was changed.",
	"redriven": "The record is due again; a worker takes it within seconds.",
	"frozen":   "The user is frozen: no money of theirs starts to move.",
	"unfrozen": "The user is free again, and what is covered starts.",
	"unlocked": "The PIN may be tried again.",
	"set":      "The setting is changed. Every process uses it within five seconds.",
	"waits":    "Nothing is changed yet: another person has to approve this change, on the page Review.",
	"role":     "The role is changed; it applies at once.",
	"close":    "The account is closed and its sessions are over.",
	"open":     "The account is open again. Its owner signs in anew.",
	"ended":    "All sessions of the account are over.",
}

// parse reads the layout and one template per page.
func (p *Pages) parse() (map[string]*template.Template, error) {
	layout, err := template.New("layout.html").Funcs(p.functions()).ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse layout: %w", err)
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	out := map[string]*template.Template{}
	for _, name := range names {
		base := strings.TrimSuffix(path.Base(name), ".html")
		if base == "layout" || base == "parts" {
			continue
		}
		one, err := template.Must(layout.Clone()).ParseFS(files, name)
		if err != nil {
			return nil, fmt.Errorf("parse page: %w", err)
		}
		out[base] = one
	}
	return out, nil
}

// show writes one page. It is made as a whole first, so that a mistake in a template is an error and not half a page.
func (p *Pages) show(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	v.Sandbox, v.Now = p.cfg.Sandbox, p.deps.Now()
	if v.Done == "" && v.Problem == "" {
		v.Done = done[r.URL.Query().Get("done")]
	}
	p.renew(w, r, v.Who)
	for _, item := range menu {
		if item.Needs != "" && !admin.Can(v.Who.Role, item.Needs) {
			continue
		}
		item.Here = item.Path == r.URL.Path || item.Path != "/admin/" && strings.HasPrefix(r.URL.Path, item.Path+"/")
		v.Menu = append(v.Menu, item)
	}
	var body bytes.Buffer
	if err := p.views[name].Execute(&body, v); err != nil {
		p.deps.Log.ErrorContext(r.Context(), "page not rendered", "page", name, "error", err)
		http.Error(w, "This page could not be made. The cause is in the log.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // the client went away
}

// renewAfter is how old a token gets before a page renews it.
const renewAfter = time.Minute

// renew keeps the session of a browser that is in use: without it, everybody would sign in every fifteen minutes. It is
// for cookies alone; a script renews nothing.
func (p *Pages) renew(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	if who.ID == "" || r.Header.Get("Authorization") != "" || who.Expires.Sub(p.deps.Now()) > tokenLife-renewAfter {
		return
	}
	token, ok, err := p.deps.Staff.Renew(who)
	if err != nil {
		p.deps.Log.ErrorContext(r.Context(), "session not renewed", "error", err)
	}
	if ok {
		http.SetCookie(w, p.deps.Cookies.Fresh(token))
	}
}

// tokenLife is how long a token is good.
const tokenLife = 15 * time.Minute

// problem is an error in words, with the status of its code.
func (p *Pages) problem(r *http.Request, err error) (status int, text string) {
	f := fault.As(err)
	row := fault.RowOf(f.Code)
	p.deps.Log.Log(r.Context(), row.Level, "page refused", "code", f.Code, "error", err)
	if f.Code == "idempotency_conflict" {
		return row.Status, "This form was sent before, with something else in it. Nothing was changed; open the page again and send it anew."
	}
	return row.Status, p.deps.Texts.Render("en", row.Message, f.Args)
}

// fail shows an error as a page of its own: there is nothing else to show.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, who admin.Identity, err error) {
	status, text := p.problem(r, err)
	p.Refuse(w, r, who, fault.As(err).Code, status, text)
}

// refusalTitles are the headlines of refusals that deserve a better one than the general.
var refusalTitles = map[int]string{
	http.StatusUnauthorized: "Please sign in again", http.StatusForbidden: "Not allowed", http.StatusNotFound: "Not found",
	http.StatusTooManyRequests: "Too many requests", http.StatusServiceUnavailable: "Not available right now",
}

// Refuse shows a refusal of the edge or of a page. Whoever is not signed in is asked to, and comes back afterwards.
func (p *Pages) Refuse(w http.ResponseWriter, r *http.Request, who admin.Identity, code string, status int, text string) {
	if code == "unauthorized" && r.Method == http.MethodGet && r.Header.Get("Authorization") == "" {
		http.Redirect(w, r, loginPath(r.URL), http.StatusSeeOther)
		return
	}
	title := refusalTitles[status]
	if title == "" {
		title = "This did not work"
	}
	p.show(w, r, status, "refused", view{Title: title, Who: who, Page: text})
}

// back ends a form: the browser asks for the page anew, so that "reload" sends nothing twice.
func back(w http.ResponseWriter, r *http.Request, path, done string) {
	if done != "" {
		path += "?done=" + done
	}
	http.Redirect(w, r, path, http.StatusSeeOther)
}
