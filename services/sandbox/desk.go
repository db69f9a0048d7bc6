package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// deskLife is how long a login is used; the bot's tokens live for fifteen minutes.
	deskLife = 10 * time.Minute
	// deskPause is how long nobody tries again after a login that was refused, so that no account gets locked.
	deskPause = 40 * time.Second
	// codePeriod is the life of a one-time code.
	codePeriod = 30 * time.Second
)

var errDeskPauses = errors.New("the last login was refused; the next try comes in a moment")

// desk reads the bot's staff API as a member of staff does: it logs in with password and one-time code, and keeps the
// session until it is old.
type desk struct {
	client *http.Client
	bot    string
	who    Operator
	now    func() time.Time

	mu    sync.Mutex
	token string
	since time.Time // of the token
	quiet time.Time // no login before
}

// read gets a path of the staff API. A session that the bot does not know any more is renewed once.
func (d *desk) read(ctx context.Context, path string) (status int, body []byte, err error) {
	for range 2 {
		token, err := d.session(ctx)
		if err != nil {
			return 0, nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.bot+path, nil)
		if err != nil {
			return 0, nil, fmt.Errorf("ask the staff API: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if status, body, err = d.send(req); err != nil || status != http.StatusUnauthorized {
			return status, body, err
		}
		d.forget(token)
	}
	return status, body, nil
}

func (d *desk) send(req *http.Request) (status int, body []byte, err error) {
	res, err := d.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("ask the staff API: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer)); err != nil {
		return 0, nil, fmt.Errorf("read the staff API's answer: %w", err)
	}
	return res.StatusCode, body, nil
}

func (d *desk) forget(token string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.token == token {
		d.token = ""
	}
}

// session returns a token that is young enough. Requests that come together share one login.
func (d *desk) session(ctx context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.token != "" && now.Sub(d.since) < deskLife {
		return d.token, nil
	}
	if now.Before(d.quiet) {
		return "", errDeskPauses
	}
	token, err := d.logIn(ctx, now)
	if err != nil {
		d.quiet = now.Add(deskPause)
		return "", err
	}
	d.token, d.since = token, now
	return token, nil
}

// logIn signs in on the staff pages. It uses the code of the period before, which the bot still takes: a code works once,
// and the present one stays for the person who reads it on the phone page.
func (d *desk) logIn(ctx context.Context, now time.Time) (string, error) {
	code, err := totpCode(d.who.TOTP, now.Add(-codePeriod))
	if err != nil {
		return "", err
	}
	form := url.Values{"email": {d.who.Email}, "password": {d.who.Password}, "code": {code}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.bot+"/admin/login", strings.NewReader(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("log in at the staff pages: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := d.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("log in at the staff pages: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	for _, cookie := range res.Cookies() {
		if res.StatusCode == http.StatusSeeOther && cookie.Value != "" {
			return cookie.Value, nil
		}
	}
	return "", fmt.Errorf("log in at the staff pages: they answered %d", res.StatusCode)
}
