package payout

import (
	"errors"
	"fmt"
)

// Bounds of attempts (DESIGN §7 rule 10).
const (
	AttemptsPerRail = 2
	AttemptsInTotal = 3
)

// Router chooses the rail of a payout attempt. It is pure: the same attempts and switches give the same rail.
type Router struct {
	names      []string // in the order of preference
	currencies map[string]map[string]bool
}

// NewRouter makes a router over the rails, the preferred one first. It refuses none, a nil one and two of one name.
func NewRouter(rails ...Rail) (*Router, error) {
	if len(rails) == 0 {
		return nil, errors.New("make payout router: no rail")
	}
	r := &Router{currencies: map[string]map[string]bool{}}
	for i, rail := range rails {
		if rail == nil {
			return nil, fmt.Errorf("make payout router: rail %d is missing", i)
		}
		name := rail.Name()
		if _, twice := r.currencies[name]; twice || name == "" {
			return nil, fmt.Errorf("make payout router: rail name %q is empty or used twice", name)
		}
		r.names = append(r.names, name)
		r.currencies[name] = map[string]bool{}
		for currency := range rail.Currencies() {
			r.currencies[name][currency] = true
		}
	}
	return r, nil
}

// Next chooses the rail of the next attempt from the rails of all attempts so far, oldest first. It is the rail that was
// tried least, the preferred one of equals, of those that pay the currency. ok is false when the bounds are reached or
// no rail is left.
//
// A rail that is switched off is no route for a further attempt: the order fails and the crypto is free again. For the
// first attempt it is taken when there is no other, because a sale that was funded waits for the switch ("not now")
// rather than fail.
func (r *Router) Next(tried []string, currency string, off func(rail string) bool) (rail string, ok bool) {
	if len(tried) >= AttemptsInTotal {
		return "", false
	}
	if rail, ok = r.least(tried, currency, off); ok || len(tried) > 0 {
		return rail, ok
	}
	return r.least(tried, currency, func(string) bool { return false })
}

// least is the rail with the fewest attempts that may have one more.
func (r *Router) least(tried []string, currency string, off func(rail string) bool) (rail string, ok bool) {
	fewest := AttemptsPerRail
	for _, name := range r.names {
		if !r.currencies[name][currency] || off(name) {
			continue
		}
		if n := count(tried, name); n < fewest {
			rail, ok, fewest = name, true, n
		}
	}
	return rail, ok
}

// count is how often a name is in a list.
func count(list []string, name string) (n int) {
	for _, s := range list {
		if s == name {
			n++
		}
	}
	return n
}
