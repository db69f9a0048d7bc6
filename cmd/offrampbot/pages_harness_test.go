package main

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"offrampbot/services/sandbox"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// desk is a browser of somebody at the operator's pages: it keeps cookies and follows links and forms.
type desk struct {
	w      *town
	client *http.Client
	who    sandbox.Operator
	codes  int // one-time codes that were used; each works once
	header http.Header
}

func (w *town) desk(who sandbox.Operator) *desk {
	jar, err := cookiejar.New(nil)
	require.NoError(w.t, err)
	return &desk{w: w, client: &http.Client{Jar: jar}, who: who, header: http.Header{}}
}

// code is a one-time code that was not used yet: the present one, or that of the next half minute.
func (d *desk) code() string {
	d.w.t.Helper()
	code, err := totp.GenerateCode(d.who.TOTP, now().Add(time.Duration(d.codes)*30*time.Second))
	require.NoError(d.w.t, err)
	d.codes++
	return code
}

// seen is a page as it arrived.
type seen struct {
	status int
	path   string // after redirects
	body   string
	header http.Header
}

func (d *desk) send(method, path string, form url.Values) seen {
	d.w.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(d.w.t.Context(), method, d.w.bot+path, body)
	require.NoError(d.w.t, err)
	req.Header = d.header.Clone()
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := d.client.Do(req)
	require.NoError(d.w.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(d.w.t, err)
	return seen{res.StatusCode, res.Request.URL.RequestURI(), string(text), res.Header}
}

// page opens a page that must be there.
func (d *desk) page(path string) seen {
	d.w.t.Helper()
	s := d.send(http.MethodGet, path, nil)
	require.Equal(d.w.t, 200, s.status, "%s: %s", path, s.body)
	require.NotContains(d.w.t, s.body, "⟦", path)
	require.NotContains(d.w.t, s.body, "<no value>", path)
	return s
}

var hiddenKey = regexp.MustCompile(`name="key" value="([^"]+)"`)

// post sends a form of a page that was seen, with its hidden key.
func (d *desk) post(from seen, path string, pairs ...string) seen {
	d.w.t.Helper()
	form := url.Values{}
	if key := hiddenKey.FindStringSubmatch(from.body); key != nil {
		form.Set("key", key[1])
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return d.send(http.MethodPost, path, form)
}

// logsIn goes through the login and lands on the overview.
func (d *desk) logsIn() {
	d.w.t.Helper()
	s := d.post(d.page("/admin/login"), "/admin/login", "email", d.who.Email, "password", d.who.Password, "code", d.code())
	require.Equal(d.w.t, 200, s.status, s.body)
	require.Equal(d.w.t, "/admin/", s.path)
}

// says fails when a page does not say something; tags and spaces do not count.
func (d *desk) says(s seen, all ...string) {
	d.w.t.Helper()
	text := plainText(s.body)
	for _, one := range all {
		require.Contains(d.w.t, text, one)
	}
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

func plainText(body string) string {
	return html.UnescapeString(spaces.ReplaceAllString(tags.ReplaceAllString(body, " "), " "))
}

// rename changes a user's name in the store, past every check of names.
func (w *town) rename(userID, name string) {
	w.t.Helper()
	require.NoError(w.t, w.db.Update(w.t.Context(), func(_ context.Context, tx store.Tx) error {
		u, err := user.Load(tx, userID)
		if err != nil {
			return err
		}
		u.Name = name
		return tx.Replace(store.Users, u)
	}))
}
