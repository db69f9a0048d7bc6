package pages

import (
	"net/http"
	"net/url"
	"strings"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
)

// loginForm is what the login shows again after a refusal: never a password or a code.
type loginForm struct {
	Email, Next string
}

// loginPath is the login that leads back to a page.
func loginPath(at *url.URL) string {
	next := at.EscapedPath()
	if at.RawQuery != "" {
		next += "?" + at.RawQuery
	}
	if next == "/admin/" || local(next) == "" {
		return "/admin/login"
	}
	return "/admin/login?next=" + url.QueryEscape(next)
}

// local is a path of ours, or "" for anything that would lead away (an open redirect is a phisher's gift).
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/admin/") ||
		strings.ContainsAny(next, "\\\r\n\t") || strings.HasPrefix(next, "/admin/log") {
		return ""
	}
	return next
}

func (p *Pages) askLogin(w http.ResponseWriter, r *http.Request, _ admin.Identity) {
	p.show(w, r, http.StatusOK, "login", view{Title: "Sign in", Page: loginForm{Next: local(r.URL.Query().Get("next"))}})
}

// login compares e-mail, password and code, and starts a session with a token of its own. A session that the browser had
// ends: nobody else can have planted the one that goes on (session fixation).
func (p *Pages) login(w http.ResponseWriter, r *http.Request, _ admin.Identity) {
	form := loginForm{Email: r.PostFormValue("email"), Next: local(r.PostFormValue("next"))}
	code := strings.Join(strings.Fields(r.PostFormValue("code")), "")
	token, err := p.deps.Staff.Login(r.Context(), form.Email, r.PostFormValue("password"), code)
	if err != nil {
		status, text := p.problem(r, err)
		p.show(w, r, status, "login", view{Title: "Sign in", Problem: text, Page: form})
		return
	}
	if err := p.endOld(r); err != nil {
		p.fail(w, r, admin.Identity{}, err)
		return
	}
	http.SetCookie(w, p.deps.Cookies.Fresh(token))
	next := form.Next
	if next == "" {
		next = "/admin/"
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// endOld voids the token of a session that the browser still has.
func (p *Pages) endOld(r *http.Request) error {
	old, err := r.Cookie(p.deps.Cookies.Name())
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	who, err := p.deps.Staff.Verify(r.Context(), old.Value)
	if fault.Is(err, "unauthorized") {
		return nil
	}
	if err != nil {
		return err
	}
	return p.deps.Staff.Logout(r.Context(), who)
}

// logout voids the token and takes the cookie away.
func (p *Pages) logout(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.end(w, r, who, p.deps.Staff.Logout(r.Context(), who))
}

// logoutEverywhere voids every token of the account: of a lost laptop, too.
func (p *Pages) logoutEverywhere(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.end(w, r, who, p.deps.Staff.RevokeAll(r.Context(), who.ID, who.Actor(), "signed out everywhere"))
}

func (p *Pages) end(w http.ResponseWriter, r *http.Request, who admin.Identity, err error) {
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	http.SetCookie(w, p.deps.Cookies.End())
	http.Redirect(w, r, "/admin/login", http.StatusSeeOther)
}
