// Package offramptest has the dependencies of an order service that tests are not about: they know nothing, hide nothing
// and keep nothing.
package offramptest

import (
	"context"
	"time"

	"offrampbot/services/offramp"
)

// Sealer seals nothing: what it is given is what it gives back.
type Sealer struct{}

// Seal implements offramp.Sealer.
func (Sealer) Seal(plain []byte, _ string) ([]byte, error) { return plain, nil }

// Open implements offramp.Sealer.
func (Sealer) Open(sealed []byte, _ string) ([]byte, error) { return sealed, nil }

// Screener has nobody on its list.
type Screener struct{}

// Address implements offramp.Screener.
func (Screener) Address(string) error { return nil }

// Name implements offramp.Screener.
func (Screener) Name(string) error { return nil }

// Watcher hears nothing.
type Watcher struct{}

// Moved implements offramp.Watcher.
func (Watcher) Moved(context.Context, offramp.Moved) {}

// Alerted implements offramp.Watcher.
func (Watcher) Alerted(context.Context, string, string, string) {}

// Refused implements offramp.Watcher.
func (Watcher) Refused(context.Context, string, offramp.Event, string) {}

// Outcome implements offramp.Watcher.
func (Watcher) Outcome(context.Context, string, string, string, time.Duration) {}
