package paystack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// errTooLong: an answer is larger than any that we know.
var errTooLong = errors.New("answer is too long")

// call makes one call and reads the whole answer. Its error never names the address, because some hold account numbers.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, in any) (reply, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return reply{}, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return reply{}, errors.New("make request")
	}
	req.Header.Set("Authorization", "Bearer "+c.cfg.SecretKey.Reveal())
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{}, bare(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // the body has been read or is not wanted
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return reply{}, fmt.Errorf("read answer: %w", bare(ctx, err))
	}
	if len(b) > maxBody {
		return reply{}, errTooLong
	}
	return reply{status: resp.StatusCode, header: resp.Header, body: b}, nil
}

// bare is an error without the address in it, and with the reason why the time ended.
func bare(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if ctx.Err() != nil && context.Cause(ctx) != nil {
		return context.Cause(ctx)
	}
	return err
}

// within bounds a call; the cause says what took too long.
func within(ctx context.Context, limit time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s took longer than %s", what, limit))
}

// maxRetryAfter bounds what a provider may ask for; the operation's own schedule goes on from there.
const maxRetryAfter = time.Hour

// retryAfter reads the header Retry-After, seconds or a date; zero when there is none that can be read.
func (c *Client) retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if text == "" {
		return 0
	}
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(c.now())
	}
	return min(max(wait, 0), maxRetryAfter)
}
