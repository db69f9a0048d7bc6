package webhooks

import (
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/ratelimit"
)

const (
	// SessionCookie carries the staff token of a browser. The prefix makes browsers insist on Secure, the path / and no
	// domain.
	SessionCookie = "__Host-offramp"
	identityKey   = "identity"
	pageKey       = "page"
)

// Cookies makes the session cookie of a browser. Plain leaves out Secure and the prefix that needs it: for a sandbox on
// plain http, whose cookie not every browser would keep otherwise.
type Cookies struct{ Plain bool }

// Name is the cookie's name.
func (k Cookies) Name() string {
	if k.Plain {
		return strings.TrimPrefix(SessionCookie, "__Host-")
	}
	return SessionCookie
}

// Fresh is the cookie that carries a token.
func (k Cookies) Fresh(token admin.Token) *http.Cookie {
	return &http.Cookie{
		Name: k.Name(), Value: token.Text, Path: "/", Expires: token.Expires, Secure: !k.Plain, HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
}

// End is the cookie that ends a session in the browser; the token itself is voided by admin.Service.Logout.
func (k Cookies) End() *http.Cookie {
	return &http.Cookie{
		Name: k.Name(), Path: "/", MaxAge: -1, Secure: !k.Plain, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// staff is the chain of an API route that needs a permission.
func (e *Edge) staff(p admin.Permission) []step {
	return []step{
		{"headers", headers},
		e.body(64 << 10),
		{"same_origin", e.sameOrigin},
		{"token", e.token},
		{"may " + string(p), e.may(p)},
		{"rate_limit staff", e.limitStaff},
	}
}

// page is the chain of a page; without a permission it is public.
func (e *Edge) page(p admin.Permission) []step {
	page := step{"page", markPage}
	if p != "" {
		return append([]step{page}, e.staff(p)...)
	}
	return []step{
		page,
		{"headers", headers},
		e.body(64 << 10),
		{"same_origin", e.sameOrigin},
		{"rate_limit address", e.limitAddress},
	}
}

// markPage makes refusals of the request pages, too.
func markPage(c *gin.Context) {
	c.Set(pageKey, true)
	c.Next()
}

// headers keep an admin page from being framed, cached or made to run what somebody put into a name (E4, B98).
func headers(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Strict-Transport-Security", "max-age=31536000")
	c.Next()
}

// sameOrigin refuses a change that a browser sends for another site (E5). Reading is harmless.
func (e *Edge) sameOrigin(c *gin.Context) {
	if err := e.csrf.Check(c.Request); err != nil {
		e.fail(c, fault.New("forbidden", err))
		return
	}
	c.Next()
}

// token finds out who asks: by bearer token, else by cookie, never by both.
func (e *Edge) token(c *gin.Context) {
	who, err := e.deps.Staff.Verify(c.Request.Context(), e.tokenOf(c.Request))
	if err != nil {
		if fault.Is(err, "unauthorized") {
			c.Header("WWW-Authenticate", `Bearer realm="admin"`)
		}
		e.fail(c, err)
		return
	}
	c.Set(identityKey, who)
	c.Next()
}

func (e *Edge) tokenOf(r *http.Request) string {
	if header := r.Header.Values("Authorization"); len(header) > 0 {
		scheme, token, _ := strings.Cut(header[0], " ")
		if len(header) != 1 || !strings.EqualFold(scheme, "Bearer") {
			return ""
		}
		return token
	}
	found := r.CookiesNamed(Cookies{Plain: e.cfg.PlainCookie}.Name())
	if len(found) != 1 { // with two, somebody else set one of them
		return ""
	}
	return found[0].Value
}

// identity is who token has found.
func identity(c *gin.Context) admin.Identity {
	who, _ := c.MustGet(identityKey).(admin.Identity)
	return who
}

// may lets a request through whose role has the permission.
func (e *Edge) may(p admin.Permission) gin.HandlerFunc {
	return func(c *gin.Context) {
		if who := identity(c); !admin.Can(who.Role, p) {
			e.fail(c, fault.New("forbidden", nil))
			return
		}
		c.Next()
	}
}

// limitStaff bounds what one member of staff, or a stolen token, can do.
func (e *Edge) limitStaff(c *gin.Context) {
	e.limit(c, "admin", e.deps.Digest("staff", identity(c).ID), e.cfg.AdminLimit)
}

// limitAddress bounds what one address can post to a public page. Looking is free.
func (e *Edge) limitAddress(c *gin.Context) {
	if c.Request.Method == http.MethodGet {
		c.Next()
		return
	}
	e.limit(c, "admin-login", e.deps.Digest("address", c.RemoteIP()), e.cfg.LoginLimit)
}

func (e *Edge) limit(c *gin.Context, scope, id string, limit ratelimit.Limit) {
	ok, wait := e.deps.Limiter.Allow(c.Request.Context(), scope, id, limit)
	if !ok {
		f := fault.New("too_many_requests", nil)
		f.RetryAfter = max(wait, time.Second)
		e.fail(c, f)
		return
	}
	c.Next()
}

// showPage hands a request to a page, with its parameters where a plain handler finds them.
func (e *Edge) showPage(p AdminPage) handler {
	return func(c *gin.Context) error {
		for _, param := range c.Params {
			c.Request.SetPathValue(param.Key, param.Value)
		}
		var who admin.Identity
		if p.Permission != "" {
			who = identity(c)
		}
		c.Request.Body = http.NoBody
		if body := rawBody(c); len(body) > 0 {
			c.Request.Body = newBody(body)
		}
		p.Handle(c.Writer, c.Request, who)
		return nil
	}
}
