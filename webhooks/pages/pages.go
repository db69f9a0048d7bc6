// Package pages renders the operator's pages under /admin: what the admin API answers, for people (DESIGN §12). It is
// HTML and one style sheet, without any script: forms and links do everything, so the policy of the edge allows nothing
// else to run. The edge checks token, role and origin before a page is asked.
package pages

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/assets"
	"offrampbot/services/invariant"
	"offrampbot/services/reconcile"
	"offrampbot/services/story"
)

//go:embed templates static
var files embed.FS

// Staff is the part of admin.Service that pages need; see there for the fault codes.
type Staff interface {
	Login(ctx context.Context, email, password, code string) (admin.Token, error)
	Verify(ctx context.Context, token string) (admin.Identity, error)
	Logout(ctx context.Context, who admin.Identity) error
	RevokeAll(ctx context.Context, email, by, why string) error
	Renew(who admin.Identity) (token admin.Token, ok bool, err error)
	Staff(ctx context.Context) ([]*admin.Admin, error)
	ChangeRole(ctx context.Context, who admin.Identity, email string, role admin.Role, why string) error
	CloseAccount(ctx context.Context, who admin.Identity, email string, closed bool, why string) error
	EndSessions(ctx context.Context, who admin.Identity, email, why string) error
}

// Reads answers what pages show. It changes nothing. Fault codes: order_unknown, body_invalid (a cursor or filter that
// cannot be read).
type Reads interface {
	List(ctx context.Context, list admin.List, q admin.Query) (admin.Page, error)
	Tale(ctx context.Context, id string) (*story.Tale, error)
	Overview(ctx context.Context) (*story.Overview, error)
}

// Changes carries out what staff ask for; a repeat under the same key gives the same answer.
type Changes interface {
	AskApproval(ctx context.Context, c admin.Change, action admin.Action, order string) (admin.Changed, error)
	Decide(ctx context.Context, c admin.Change, approval string, approve bool) (admin.Changed, error)
	PutSettings(ctx context.Context, c admin.Change, settings map[string]string) (admin.Changed, error)
	Redrive(ctx context.Context, c admin.Change, record string) (admin.Changed, error)
	FreezeUser(ctx context.Context, c admin.Change, user string) (admin.Changed, error)
	UnfreezeUser(ctx context.Context, c admin.Change, user string) (admin.Changed, error)
	UnlockUser(ctx context.Context, c admin.Change, user string) (admin.Changed, error)
}

// Checker checks what is stored. It takes as long as there are records, and changes nothing.
type Checker interface {
	// Verify checks every chain, the ledger and all invariants.
	Verify(ctx context.Context) (invariant.Report, error)
	// Reconcile compares the books with the chains and the providers' statements of the last week; it asks outside.
	Reconcile(ctx context.Context) (reconcile.Report, error)
}

// Cookies makes the session cookie.
type Cookies interface {
	Name() string
	Fresh(token admin.Token) *http.Cookie
	End() *http.Cookie
}

// Texts renders the catalogue's texts: messages to users and errors.
type Texts interface {
	Render(lang, key string, args map[string]string) string
}

// Deps is what the pages need; all of it is required.
type Deps struct {
	Staff    Staff
	Reads    Reads
	Changes  Changes
	Checker  Checker
	Cookies  Cookies
	Texts    Texts
	Registry *assets.Registry
	Log      *slog.Logger
	Now      func() time.Time
	Key      func() string // a fresh idempotency key for a form
}

// Config steers the pages.
type Config struct {
	Sandbox bool // says on every page that no real money moves
}

// Pages are the operator's pages. They keep nothing between requests but that a check is running.
type Pages struct {
	deps  Deps
	cfg   Config
	views map[string]*template.Template
	style []byte
	icon  []byte
	check sync.Mutex // one check at a time: it reads everything
}

// New parses the templates, or says what is missing.
func New(deps Deps, cfg Config) (*Pages, error) {
	v := reflect.ValueOf(deps)
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			return nil, errors.New("pages: " + v.Type().Field(i).Name + " is missing")
		}
	}
	p := &Pages{deps: deps, cfg: cfg}
	var err error
	if p.style, err = files.ReadFile("static/style.css"); err != nil {
		return nil, err
	}
	if p.icon, err = files.ReadFile("static/icon.svg"); err != nil {
		return nil, err
	}
	p.views, err = p.parse()
	return p, err
}

// Page is one page. Without a permission it is public: the login and its style sheet.
type Page struct {
	Method     string
	Path       string // under /admin; parameters are read with Request.PathValue
	Permission admin.Permission
	Handle     func(w http.ResponseWriter, r *http.Request, who admin.Identity)
}

// Table is every page with who may see it.
func (p *Pages) Table() []Page {
	return []Page{
		{"GET", "", "", p.home},
		{"GET", "/style.css", "", p.showStyle},
		{"GET", "/icon.svg", "", p.showIcon},
		{"GET", "/login", "", p.askLogin},
		{"POST", "/login", "", p.login},
		{"POST", "/logout", admin.Read, p.logout},
		{"POST", "/logout-everywhere", admin.Read, p.logoutEverywhere},

		{"GET", "/", admin.Read, p.overview},
		{"GET", "/orders", admin.Read, p.orders},
		{"GET", "/orders/:id", admin.Read, p.order},
		{"POST", "/orders/:id/approvals", admin.AskApproval, p.ask},
		{"GET", "/review", admin.Read, p.review},
		{"POST", "/approvals/:id/approve", admin.Decide, p.decide(true)},
		{"POST", "/approvals/:id/reject", admin.Decide, p.decide(false)},
		{"GET", "/parked", admin.Read, p.parked},
		{"POST", "/parked/:id/redrive", admin.Redrive, p.redrive},
		{"GET", "/duplicates", admin.Read, p.duplicates},
		{"GET", "/users", admin.Read, p.users},
		{"GET", "/users/:id", admin.Read, p.user},
		{"POST", "/users/:id/freeze", admin.FreezeUser, p.aboutUser("frozen")},
		{"POST", "/users/:id/unlock", admin.UnlockUser, p.aboutUser("unlocked")},
		{"POST", "/users/:id/unfreeze", admin.UnfreezeUser, p.aboutUser("unfrozen")},
		{"GET", "/deposits", admin.Read, p.deposits},
		{"GET", "/ledger", admin.Read, p.ledger},
		{"GET", "/settings", admin.Read, p.settings},
		{"POST", "/settings", admin.ChangeSetting, p.setSetting},
		{"GET", "/audit", admin.Read, p.audit},
		{"GET", "/verify", admin.Read, p.askVerify},
		{"POST", "/verify", admin.Read, p.run(p.verify)},
		{"POST", "/reconcile", admin.Read, p.run(p.reconcile)},
		{"GET", "/staff", admin.ManageStaff, p.staff},
		{"POST", "/staff/:id/role", admin.ManageStaff, p.manage("role")},
		{"POST", "/staff/:id/close", admin.ManageStaff, p.manage("close")},
		{"POST", "/staff/:id/open", admin.ManageStaff, p.manage("open")},
		{"POST", "/staff/:id/end-sessions", admin.ManageStaff, p.manage("end-sessions")},
	}
}

func (p *Pages) home(w http.ResponseWriter, r *http.Request, _ admin.Identity) {
	http.Redirect(w, r, "/admin/", http.StatusSeeOther)
}

func (p *Pages) showStyle(w http.ResponseWriter, _ *http.Request, _ admin.Identity) {
	asset(w, "text/css; charset=utf-8", p.style)
}

func (p *Pages) showIcon(w http.ResponseWriter, _ *http.Request, _ admin.Identity) {
	asset(w, "image/svg+xml", p.icon)
}

// asset serves a file that is the same for everybody, so a browser may keep it for some minutes.
func asset(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=600")
	_, _ = w.Write(body) // the client went away
}
