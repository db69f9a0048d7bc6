package pages

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/invariant"
)

func TestLogin_startsASessionAndEndsTheOldOne(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var code string
	h.login = func(email, password, typed string) (admin.Token, error) {
		code = typed
		if password != "right" {
			return admin.Token{}, fault.New("login_refused", nil)
		}
		return admin.Token{Text: "fresh", ID: email}, nil
	}
	form := url.Values{"email": {"a@example.com"}, "password": {"wrong"}, "code": {"123 456"}, "next": {"/admin/orders?state=review"}}
	w := h.do("POST", "/login", "/admin/login", form)
	require.Equal(t, 401, w.Code)
	require.Equal(t, "123456", code)
	require.Empty(t, w.Result().Cookies())
	require.NotContains(t, w.Body.String(), "wrong")
	require.Contains(t, w.Body.String(), `name="next" value="/admin/orders?state=review"`)

	form.Set("password", "right")
	old := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "s", Value: value}) }
	}
	w = h.do("POST", "/login", "/admin/login", form, old("planted"))
	require.Equal(t, 303, w.Code)
	require.Equal(t, "/admin/orders?state=review", w.Header().Get("Location"))
	require.Equal(t, "fresh", w.Result().Cookies()[0].Value)
	require.Equal(t, []string{"planted"}, h.ended)
	w = h.do("POST", "/login", "/admin/login", form, old("gone"))
	require.Equal(t, 303, w.Code)
	require.Len(t, h.ended, 1)
}

func TestLogin_neverLeadsAway(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/admin/orders?q=a%2Fb": "/admin/orders?q=a%2Fb", "/admin/": "/admin/", "https://evil.example/admin/": "", "//evil.example/admin/": "",
		"/admin/\\evil.example": "", "/other": "", "": "", "/admin/login": "", "/admin/logout": "", "javascript:alert(1)": "", "/admin/\r\nX: y": "",
	} {
		require.Equal(t, want, local(next), next)
	}
}

func TestRefuse_asksAStrangerToSignIn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	refuse := func(method, header string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "/admin/orders?state=review", nil)
		require.NoError(t, err)
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		w := httptest.NewRecorder()
		h.pages.Refuse(w, r, admin.Identity{}, "unauthorized", 401, "You are not signed in.")
		return w.Code, w.Header().Get("Location")
	}
	code, to := refuse("GET", "")
	require.Equal(t, 303, code)
	require.Equal(t, "/admin/login?next=%2Fadmin%2Forders%3Fstate%3Dreview", to)
	code, to = refuse("POST", "")
	require.Equal(t, 401, code, "a form is not sent again by itself")
	require.Empty(t, to)
	code, _ = refuse("GET", "Bearer x")
	require.Equal(t, 401, code, "a script is not sent to a form")
}

func TestRenew_keepsABrowserSignedIn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.who.Since = h.clock.Now()
	require.Empty(t, h.get("/").Result().Cookies(), "a young token is kept")
	h.clock.Advance(2 * time.Minute)
	require.Equal(t, "renewed-op@example.com", h.get("/").Result().Cookies()[0].Value)
	script := func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }
	require.Empty(t, h.do("GET", "/", "/admin/", nil, script).Result().Cookies(), "a script gets no cookie")
	h.who.Since = time.Time{}
	require.Empty(t, h.get("/").Result().Cookies(), "a session that may not go on ends with its token")
	require.Equal(t, 2, h.renews)
}

func TestVerify_oneCheckAtATime(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	running, end := make(chan struct{}), make(chan struct{})
	h.verify = func() (invariant.Report, error) {
		close(running)
		<-end
		return invariant.Report{Checked: map[string]int{"orders": 3}, Differences: []invariant.Difference{{ID: "o1", Rule: "I4", Text: "says 1, is 2"}}}, nil
	}
	first := make(chan string)
	go func() { first <- h.do("POST", "/verify", "/admin/verify", url.Values{}).Body.String() }()
	<-running
	w := h.do("POST", "/verify", "/admin/verify", url.Values{})
	require.Equal(t, 409, w.Code)
	require.Contains(t, w.Body.String(), "A check is running already")
	close(end)
	body := <-first
	require.Contains(t, body, "1 difference.")
	require.Contains(t, body, "says 1, is 2")
	body = h.do("POST", "/reconcile", "/admin/reconcile", url.Values{}).Body.String()
	require.Contains(t, body, "Everything holds")
	require.Contains(t, body, "is under way")
}
