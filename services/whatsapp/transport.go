package whatsapp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"offrampbot/services/outside"
)

// maxAnswer bounds what is read of an API answer.
const maxAnswer = 1 << 20

// closeBody gives the connection back; what was needed has been read, so its error tells nothing.
func closeBody(response *http.Response) { _ = response.Body.Close() }

// newHTTP makes a client that follows no redirect: one would carry the bearer token to another host.
func newHTTP(base http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     outside.Transport{Next: base},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// request is one call of the Graph API.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	contentType  string
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request with the bearer token under the client's total time-out and reads the answer. An error means that
// there is none; notSent tells whether the request can have arrived.
func (c *Client) call(ctx context.Context, r request) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errors.New("whatsapp time-out"))
	defer cancel()
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	httpRequest, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("%w: build request", outside.ErrNotSent)
	}
	httpRequest.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	if r.contentType != "" {
		httpRequest.Header.Set("Content-Type", r.contentType)
	}
	response, err := c.http.Do(httpRequest)
	if err != nil {
		return nil, stripURL(err)
	}
	defer closeBody(response)
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return &answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

// stripURL takes the URL out of an error: paths and queries hold ids that do not belong into logs.
func stripURL(err error) error {
	if u := (&url.Error{}); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// notSent reports whether a failed call certainly reached nobody: a choke point stopped it, or no connection was made.
func notSent(err error) bool {
	if errors.Is(err, outside.ErrNotSent) {
		return true
	}
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// failed turns a call without an answer into an Error.
func failed(err error) *Error {
	return &Error{Class: ClassTransient, MaybeSent: !notSent(err), Err: err}
}

// apiError reads an answer that is not a success. The API's code decides; without one, which is what proxies and load
// balancers give, only what the status makes certain is believed.
func apiError(a *answer) *Error {
	e := &Error{HTTP: a.status, RetryAfter: retryAfter(a.header)}
	if outer, err := asObject(a.body); err == nil && outer.has("error") {
		inner := outer.object("error")
		got := readError(inner)
		e.Code, e.Details = got.Code, maskNumbers(got.Details)
		if e.Details == "" {
			e.Details = maskNumbers(inner.text("message"))
		}
		e.Class = Classify(got.Code)
	}
	if e.Class == "" || e.Class == ClassUnknown {
		e.Class = classOfStatus(a.status)
	}
	e.MaybeSent = AdviceFor(e.Class).MaybeSent
	return e
}

func classOfStatus(status int) Class {
	switch {
	case status == http.StatusTooManyRequests:
		return ClassThrottleNumber
	case status == http.StatusUnauthorized:
		return ClassToken
	case status >= 500:
		return ClassTransient
	}
	return ClassUnknown
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(strings.TrimSpace(h.Get("Retry-After")))
	if err != nil || seconds < 0 || seconds > 86400 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// callJSON posts a JSON body, or gets without one, and decodes the answer's object. Everything but a 200 with an object
// is an *Error; a 200 with anything else may have had its effect.
func (c *Client) callJSON(ctx context.Context, r request, body any) (object, error) {
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		r.body, r.contentType = encoded, "application/json"
	}
	a, err := c.call(ctx, r)
	if err != nil {
		return nil, failed(err)
	}
	if a.status != http.StatusOK {
		return nil, apiError(a)
	}
	o, err := asObject(a.body)
	if err != nil {
		return nil, &Error{
			Class: ClassTransient, HTTP: a.status, MaybeSent: true, Err: errors.New("answer is not a JSON object"),
		}
	}
	if o.has("error") {
		return nil, apiError(a)
	}
	return o, nil
}
