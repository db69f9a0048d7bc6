package pages

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/invariant"
)

// checkTime bounds a check; it is less than the server's write time-out. A store too big for it is checked on the host.
const checkTime = 75 * time.Second

var errCheckTime = errors.New("the check took too long for a page")

// verifyPage is the result of a check, or nothing before one.
type verifyPage struct {
	Report *checked
	Took   time.Duration
}

// checked is what a check found.
type checked struct {
	What        string // what was checked, as a sentence begins with it
	Counts      []counted
	Differences []invariant.Difference
	Explained   []invariant.Difference // differs, and that is right
}

type counted struct {
	Name string
	N    int
}

func countsOf(all map[string]int) []counted {
	var out []counted
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, counted{name, all[name]})
	}
	return out
}

func (p *Pages) askVerify(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.show(w, r, http.StatusOK, "verify", view{Title: "Verify", Who: who, Page: verifyPage{}})
}

// verify checks what is stored against itself.
func (p *Pages) verify(ctx context.Context) (*checked, error) {
	report, err := p.deps.Checker.Verify(ctx)
	return &checked{What: "The store", Counts: countsOf(report.Checked), Differences: report.Differences}, err
}

// reconcile compares what is stored with what the outside says.
func (p *Pages) reconcile(ctx context.Context) (*checked, error) {
	report, err := p.deps.Checker.Reconcile(ctx)
	out := &checked{What: "The comparison with chains and providers", Counts: countsOf(report.Checked)}
	for _, d := range report.Differences {
		out.Differences = append(out.Differences, invariant.Difference(d))
	}
	for _, d := range report.Explained {
		out.Explained = append(out.Explained, invariant.Difference(d))
	}
	return out, err
}

// run runs a check while the bot works, one check at a time.
func (p *Pages) run(check func(ctx context.Context) (*checked, error)) func(http.ResponseWriter, *http.Request, admin.Identity) {
	return func(w http.ResponseWriter, r *http.Request, who admin.Identity) {
		v := view{Title: "Verify", Who: who, Page: verifyPage{}}
		if !p.check.TryLock() {
			v.Problem = "A check is running already. Wait until it has ended, then start another."
			p.show(w, r, http.StatusConflict, "verify", v)
			return
		}
		defer p.check.Unlock()
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(r.Context()), checkTime, errCheckTime)
		defer cancel()
		start := p.deps.Now()
		report, err := check(ctx)
		switch {
		case errors.Is(context.Cause(ctx), errCheckTime):
			v.Problem = "The check took longer than a page may. Run “offrampbot verify” or “offrampbot reconcile” on the host."
			p.show(w, r, http.StatusServiceUnavailable, "verify", v)
		case err != nil:
			p.fail(w, r, who, err)
		default:
			v.Page = verifyPage{Report: report, Took: p.deps.Now().Sub(start).Round(time.Millisecond)}
			p.show(w, r, http.StatusOK, "verify", v)
		}
	}
}
