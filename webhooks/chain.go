package webhooks

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"

	"offrampbot/services/fault"
)

// listener names the address that serves a route.
type listener string

const (
	public   listener = "public"
	internal listener = "internal"
	metrics  listener = "metrics"
)

// step is one named middleware.
type step struct {
	name string
	run  gin.HandlerFunc
}

// handler ends a route. An error that it returns is written by the error writer.
type handler func(c *gin.Context) error

// route is one line of the table.
type route struct {
	listener listener
	method   string
	path     string
	steps    []step
	handle   handler
}

// first are the steps of every request, also of those without a route.
func (e *Edge) first() []step {
	return []step{
		{"request_id", e.requestID},
		{"recover", e.recover},
		{"access_log", e.accessLog},
		{"metrics", e.count},
		{"deadline", e.deadline},
	}
}

// last are the steps right before the handler.
func (e *Edge) last() []step { return []step{{"error_writer", e.writeErrors}} }

// engine serves the routes of one listener.
func (e *Edge) engine(on listener) http.Handler {
	g := gin.New()
	g.HandleMethodNotAllowed = true
	g.RedirectTrailingSlash = false
	g.RemoveExtraSlash = false
	g.UseRawPath = true                              // ids may hold an escaped slash
	if err := g.SetTrustedProxies(nil); err != nil { // no address to parse
		panic(err)
	}
	for _, s := range e.first() {
		g.Use(s.run)
	}
	g.NoRoute(func(c *gin.Context) {
		if path := c.Request.URL.Path; strings.HasPrefix(path, "/admin/") && !strings.HasPrefix(path, "/admin/api/") {
			c.Set(pageKey, true)
			headers(c)
		}
		e.fail(c, fault.New("route_unknown", nil))
	})
	g.NoMethod(func(c *gin.Context) { e.fail(c, fault.New("method_unknown", nil)) })
	for _, r := range e.routes {
		if r.listener != on {
			continue
		}
		var chain []gin.HandlerFunc
		for _, s := range append(append([]step{}, r.steps...), e.last()...) {
			chain = append(chain, s.run)
		}
		g.Handle(r.method, r.path, append(chain, end(r.handle))...)
	}
	return g
}

// end attaches a handler's error to the context, where the error writer finds it.
func end(h handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			_ = c.Error(err) // returns its argument
		}
	}
}

// Routes describes every route with its chain, for docs/routes.md.
func (e *Edge) Routes() string {
	names := func(steps []step) string {
		out := make([]string, len(steps))
		for i, s := range steps {
			out[i] = s.name
		}
		return strings.Join(out, " → ")
	}
	var b strings.Builder
	b.WriteString("# Routes\n\nGenerated from `webhooks/router.go`; `go test ./webhooks -update` writes it again.\n\n")
	fmt.Fprintf(&b, "Every request passes %s first and %s right before its handler; the table shows what lies between.\n",
		names(e.first()), names(e.last()))
	b.WriteString("\n| listener | method | path | checked by |\n|---|---|---|---|\n")
	for _, r := range e.routes {
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", r.listener, r.method, r.path, names(r.steps))
	}
	return b.String()
}

// validate names every dependency that is missing.
func (d Deps) validate() error {
	var errs []error
	v := reflect.ValueOf(d)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name != "Pages" && name != "Refuse" && v.Field(i).IsNil() {
			errs = append(errs, fmt.Errorf("webhooks: %s is missing", name))
		}
	}
	return errors.Join(errs...)
}

func (c Config) validate() error {
	var errs []error
	if c.PhoneNumberID == "" {
		errs = append(errs, errors.New("webhooks: PhoneNumberID cannot be empty"))
	}
	if c.VerifyToken == "" {
		errs = append(errs, errors.New("webhooks: VerifyToken cannot be empty"))
	}
	errs = append(errs, secrets("AppSecrets", c.AppSecrets), secrets("DepositSecrets", c.DepositSecrets))
	return errors.Join(errs...)
}

// secrets refuses a list that would accept an unsigned request (B71, D22).
func secrets(name string, list [][]byte) error {
	if len(list) == 0 {
		return fmt.Errorf("webhooks: %s cannot be empty", name)
	}
	for _, s := range list {
		if len(s) == 0 {
			return fmt.Errorf("webhooks: %s holds an empty secret", name)
		}
	}
	return nil
}
