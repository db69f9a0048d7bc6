// Package outside carries HTTP calls to other people's servers through the choke point, for every adapter alike, so that
// crash tests reach each of them.
package outside

import (
	"errors"
	"fmt"
	"net/http"

	"offrampbot/services/point"
)

// ErrNotSent marks a call that was stopped before anything left the process.
var ErrNotSent = errors.New("nothing was sent")

// Transport passes every call through point.Outside.
type Transport struct{ Next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := point.Before(r.Context(), point.Outside); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	answer, err := t.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := point.After(r.Context(), point.Outside); err != nil { // the reply is lost
		return nil, errors.Join(err, answer.Body.Close())
	}
	return answer, nil
}

var _ http.RoundTripper = Transport{}
