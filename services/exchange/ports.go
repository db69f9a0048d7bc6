package exchange

import (
	"time"

	"offrampbot/services/store"
)

// Book is what the desk needs of the operator's settings.
type Book interface {
	// Price is the operator's rate less the spread, at a time; fault code rate_unavailable when it is missing, too old or
	// outside its band.
	Price(asset, fiat string, now time.Time) (Price, error)
	// Off reports whether one of the switches is off, and the operator's reason.
	Off(switches ...string) (reason string, off bool)
}

// BookFunc reads the settings inside a snapshot or transaction, so that a decision uses the settings it commits with.
// setting.Book is the implementation. It writes nothing and is safe to repeat.
type BookFunc func(r store.Reader) (Book, error)
