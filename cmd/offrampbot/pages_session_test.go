package main

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/sandbox"
	"offrampbot/services/testkit"
)

// cookie is the session as a thief would copy it.
func (d *desk) cookie() *http.Cookie {
	d.w.t.Helper()
	u, err := url.Parse(d.w.bot)
	require.NoError(d.w.t, err)
	for _, c := range d.client.Jar.Cookies(u) {
		return c
	}
	require.FailNow(d.w.t, "no cookie")
	return nil
}

// thief has a copy of somebody's cookie and nothing else.
func (w *town) thief(c *http.Cookie) *desk {
	d := w.desk(sandbox.Operator{})
	d.header.Set("Cookie", c.Name+"="+c.Value)
	return d
}

func TestPages_sessions(t *testing.T) {
	t.Parallel()
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), nil)
	d := w.desk(sandbox.DefaultOperator())
	login := d.page("/admin/login")

	wrong := d.post(login, "/admin/login", "email", d.who.Email, "password", d.who.Password, "code", "000000")
	require.Equal(t, 401, wrong.status)
	d.says(wrong, "The e-mail address, password or code is not right")
	require.Contains(t, wrong.body, `value="`+d.who.Email+`"`)
	require.NotContains(t, wrong.body, d.who.Password)
	for _, pair := range [][2]string{{d.who.Email, "wrong password"}, {"nobody@example.com", "wrong password"}} {
		again := d.post(login, "/admin/login", "email", pair[0], "password", pair[1], "code", "000000")
		require.Equal(t, 401, again.status)
		d.says(again, "The e-mail address, password or code is not right")
	}
	require.Equal(t, "/admin/login", d.send("GET", "/admin/", nil).path)

	code := d.code()
	in := d.post(login, "/admin/login", "email", d.who.Email, "password", d.who.Password, "code", code[:3]+" "+code[3:], "next", "https://evil.example/")
	require.Equal(t, "/admin/", in.path, "a login never leads away")
	second := w.desk(d.who)
	require.Equal(t, 401, second.post(login, "/admin/login", "email", d.who.Email, "password", d.who.Password, "code", code).status, "a code works once")

	old := d.cookie()
	d.post(login, "/admin/login", "email", d.who.Email, "password", d.who.Password, "code", d.code(), "next", "/admin/orders?state=review")
	require.NotEqual(t, old.Value, d.cookie().Value, "each login has a session of its own")
	require.Equal(t, "/admin/login", w.thief(old).send("GET", "/admin/", nil).path, "and ends the one before")

	stolen := w.thief(d.cookie())
	stolen.page("/admin/")
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		d.header.Set(name, value)
		refused := d.post(login, "/admin/logout")
		require.Equal(t, 403, refused.status, name)
		require.Equal(t, 403, d.post(login, "/admin/settings", "name", "spread_bps", "value", "0", "reason", "a gift").status)
		require.Equal(t, 403, d.post(login, "/admin/login", "email", "a@b.example", "password", "12345678", "code", "000000").status)
		d.header.Del(name)
	}
	d.page("/admin/")
	require.Equal(t, "/admin/login", d.post(login, "/admin/logout-everywhere").path)
	require.Equal(t, "/admin/login", stolen.send("GET", "/admin/", nil).path, "signed out everywhere is everywhere")
	late := stolen.post(login, "/admin/settings", "name", "spread_bps", "value", "0", "reason", "a gift")
	require.Equal(t, 401, late.status)
	d.says(late, "Please sign in again")
}
