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
	Report  *invariant.Report
	Checked []counted
	Took    time.Duration
}

type counted struct {
	Name string
	N    int
}

func (p *Pages) askVerify(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.show(w, r, http.StatusOK, "verify", view{Title: "Verify", Who: who, Page: verifyPage{}})
}

// verify checks everything while the bot runs, one check at a time.
func (p *Pages) verify(w http.ResponseWriter, r *http.Request, who admin.Identity) {
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
	report, err := p.deps.Checker.Verify(ctx)
	switch {
	case errors.Is(context.Cause(ctx), errCheckTime):
		v.Problem = "The check took longer than a page may. Run “offrampbot verify” on the host."
		p.show(w, r, http.StatusServiceUnavailable, "verify", v)
		return
	case err != nil:
		p.fail(w, r, who, err)
		return
	}
	page := verifyPage{Report: &report, Took: p.deps.Now().Sub(start)}
	for _, name := range slices.Sorted(maps.Keys(report.Checked)) {
		page.Checked = append(page.Checked, counted{name, report.Checked[name]})
	}
	v.Page = page
	p.show(w, r, http.StatusOK, "verify", v)
}
