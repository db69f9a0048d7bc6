package webhooks

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"offrampbot/services/admin"
	"offrampbot/services/ratelimit"
)

// Deps is what the edge needs; all of it is required.
type Deps struct {
	Inbox    Inbox
	Repeats  Repeats
	Rails    map[string]CallbackRail // by provider name
	Approver Approver
	Flows    FlowEndpoint
	Confirm  Confirmer
	Staff    Staff
	Reads    Reads
	Changes  Changes
	Pages    []AdminPage
	Refuse   RefusalHandler // shows refusals of pages; nil: they are answered as those of the API
	Limiter  Limiter
	Health   Health
	Metrics  Metrics
	Scrape   http.Handler // serves /metrics
	Texts    Texts
	Log      *slog.Logger
	Now      func() time.Time
	// Digest is a keyed digest: fingerprints and partitions must not give away what they are made of.
	Digest func(parts ...string) string
}

// Config steers the edge.
type Config struct {
	PhoneNumberID   string
	VerifyToken     string
	AppSecrets      [][]byte // of WhatsApp; current, and previous during a rotation
	DepositSecrets  [][]byte // of trusted confirmation events, likewise
	SeparateMetrics bool     // /metrics has a listener of its own
	PlainCookie     bool     // the session cookie of a sandbox on plain http, see Cookies
	HandlerTimeout  time.Duration
	AdminLimit      ratelimit.Limit // per member of staff
	LoginLimit      ratelimit.Limit // per address that posts to a public page
}

func (c Config) withDefaults() Config {
	if c.HandlerTimeout == 0 {
		c.HandlerTimeout = 10 * time.Second
	}
	if c.AdminLimit.Rate == 0 {
		c.AdminLimit = ratelimit.Limit{Rate: 600, Burst: 200, Period: time.Minute}
	}
	if c.LoginLimit.Rate == 0 {
		c.LoginLimit = ratelimit.Limit{Rate: 60, Burst: 30, Period: 15 * time.Minute}
	}
	return c
}

// Edge is the HTTP edge: one handler per listener.
type Edge struct {
	deps   Deps
	cfg    Config
	csrf   *http.CrossOriginProtection
	routes []route

	Public   http.Handler // HTTP_ADDR
	Internal http.Handler // INTERNAL_ADDR
	Metrics  http.Handler // METRICS_ADDR, when it is set
}

// New builds the edge, or says what is missing.
func New(deps Deps, cfg Config) (*Edge, error) {
	if err := errors.Join(deps.validate(), cfg.validate()); err != nil {
		return nil, err
	}
	gin.SetMode(gin.ReleaseMode)
	e := &Edge{deps: deps, cfg: cfg.withDefaults(), csrf: http.NewCrossOriginProtection()}
	e.routes = e.table()
	e.Public, e.Internal, e.Metrics = e.engine(public), e.engine(internal), e.engine(metrics)
	return e, nil
}

// table is every route of the process. Each line shows who may call it and in which order it is checked.
func (e *Edge) table() []route {
	meta := []step{e.clock(), e.body(4 << 20), e.metaSignature(http.StatusUnauthorized)}
	flow := []step{e.clock(), e.body(64 << 10), e.metaSignature(statusFlowSignature)}
	small := []step{e.clock(), e.body(64 << 10)}
	deposit := []step{e.clock(), e.body(64 << 10), e.depositSignature()}

	routes := []route{
		{public, "GET", "/webhooks/whatsapp", nil, e.verifyWhatsApp},
		{public, "POST", "/webhooks/whatsapp", meta, e.takeWhatsApp},
		{public, "POST", "/webhooks/flows", flow, e.answerFlow},
		{public, "POST", "/webhooks/payouts/:provider", small, e.takePayoutCallback},
		{public, "POST", "/webhooks/payouts/:provider/approval", small, e.approvePayout},
		{internal, "POST", "/webhooks/deposits", deposit, e.confirmDeposit},

		{public, "GET", "/healthz", nil, e.live},
		{public, "GET", "/readyz", nil, e.ready},
		{internal, "GET", "/healthz", nil, e.live},
		{internal, "GET", "/readyz", nil, e.ready},
		{e.metricsListener(), "GET", "/metrics", nil, e.scrape},

		{public, "GET", "/admin/api/v1/orders", e.staff(admin.Read), e.list(admin.Orders)},
		{public, "GET", "/admin/api/v1/orders/:id", e.staff(admin.Read), e.order},
		{public, "GET", "/admin/api/v1/audit", e.staff(admin.Read), e.list(admin.Audit)},
		{public, "GET", "/admin/api/v1/duplicates", e.staff(admin.Read), e.list(admin.Duplicates)},
		{public, "GET", "/admin/api/v1/deposits", e.staff(admin.Read), e.list(admin.Deposits)},
		{public, "GET", "/admin/api/v1/ledger", e.staff(admin.Read), e.list(admin.Ledger)},
		{public, "GET", "/admin/api/v1/parked", e.staff(admin.Read), e.list(admin.Parked)},
		{public, "GET", "/admin/api/v1/settings", e.staff(admin.Read), e.list(admin.Settings)},
		{public, "GET", "/admin/api/v1/approvals", e.staff(admin.Read), e.list(admin.Approvals)},
		{public, "GET", "/admin/api/v1/users", e.staff(admin.Read), e.list(admin.Users)},

		{public, "PUT", "/admin/api/v1/settings", e.staff(admin.ChangeSetting), e.putSettings},
		{public, "POST", "/admin/api/v1/approvals", e.staff(admin.AskApproval), e.askApproval},
		{public, "POST", "/admin/api/v1/approvals/:id/approve", e.staff(admin.Decide), e.decide(true)},
		{public, "POST", "/admin/api/v1/approvals/:id/reject", e.staff(admin.Decide), e.decide(false)},
		{public, "POST", "/admin/api/v1/parked/:id/redrive", e.staff(admin.Redrive), e.withReason(e.deps.Changes.Redrive)},
		{public, "POST", "/admin/api/v1/users/:id/freeze", e.staff(admin.FreezeUser), e.withReason(e.deps.Changes.FreezeUser)},
		{public, "POST", "/admin/api/v1/users/:id/unfreeze", e.staff(admin.UnfreezeUser), e.withReason(e.deps.Changes.UnfreezeUser)},
		{public, "POST", "/admin/api/v1/users/:id/unlock", e.staff(admin.UnlockUser), e.withReason(e.deps.Changes.UnlockUser)},
	}
	for _, p := range e.deps.Pages {
		routes = append(routes, route{public, p.Method, "/admin" + p.Path, e.page(p.Permission), e.showPage(p)})
	}
	return routes
}

func (e *Edge) metricsListener() listener {
	if e.cfg.SeparateMetrics {
		return metrics
	}
	return public
}
