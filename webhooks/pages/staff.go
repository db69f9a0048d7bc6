package pages

import (
	"net/http"
	"time"

	"offrampbot/services/admin"
)

// staffPage is every account.
type staffPage struct {
	Rows  []member
	Roles []roleMeaning
}

// member is one account as its owner's colleagues see it.
type member struct {
	*admin.Admin
	State string // active, locked or disabled
	Self  bool
}

type roleMeaning struct {
	Name  admin.Role
	Means string
}

// roleMeanings says what each role may do.
var roleMeanings = []roleMeaning{
	{admin.Viewer, "reads everything, exports lists"},
	{admin.Support, "also freezes users and unlocks PINs"},
	{admin.Operator, "also changes settings, unfreezes users, drives parked records again, asks for decisions"},
	{admin.Approver, "also decides what another person asked for"},
	{admin.Owner, "also changes roles and closes accounts of others"},
}

func (p *Pages) staff(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.showStaff(w, r, who, nil)
}

func (p *Pages) showStaff(w http.ResponseWriter, r *http.Request, who admin.Identity, refused error) {
	all, err := p.deps.Staff.Staff(r.Context())
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	page := staffPage{Roles: roleMeanings}
	for _, a := range all {
		page.Rows = append(page.Rows, member{Admin: a, State: stateOf(a, p.deps.Now()), Self: a.ID == who.ID})
	}
	v := view{Title: "Staff", Who: who, Page: page}
	status := http.StatusOK
	if refused != nil {
		status, v.Problem = p.problem(r, refused)
	}
	p.show(w, r, status, "staff", v)
}

func stateOf(a *admin.Admin, at time.Time) string {
	switch {
	case a.Disabled:
		return "disabled"
	case a.LockedUntil != nil && at.Before(*a.LockedUntil):
		return "locked"
	default:
		return "active"
	}
}

// manage changes the account that the path names.
func (p *Pages) manage(what string) func(http.ResponseWriter, *http.Request, admin.Identity) {
	return func(w http.ResponseWriter, r *http.Request, who admin.Identity) {
		id, why, said := r.PathValue("id"), r.PostFormValue("reason"), what
		var err error
		switch what {
		case "role":
			err = p.deps.Staff.ChangeRole(r.Context(), who, id, admin.Role(r.PostFormValue("role")), why)
		case "close", "open":
			err = p.deps.Staff.CloseAccount(r.Context(), who, id, what == "close", why)
		default:
			err = p.deps.Staff.EndSessions(r.Context(), who, id, why)
			said = "ended"
		}
		if err != nil {
			p.showStaff(w, r, who, err)
			return
		}
		back(w, r, "/admin/staff", said)
	}
}
