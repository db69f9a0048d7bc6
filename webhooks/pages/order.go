package pages

import (
	"net/http"
	"net/url"

	"offrampbot/services/admin"
	"offrampbot/services/offramp"
	"offrampbot/services/story"
)

// orderPage is one sale with its whole story.
type orderPage struct {
	*story.Tale
	Path      []offramp.State // the states it went through, in order
	Events    []moment
	Approvals []approval
	Open      *approval // the request that waits for a decision
	Actions   []action
	Form      askForm
	Who       admin.Identity
}

// askForm is what the person typed, when a request was refused.
type askForm struct{ Action, Reason string }

// action is one thing that two people may do to an order in review.
type action struct {
	Name  admin.Action
	Label string
	Means string
}

// actions says in words what each action does.
var actions = []action{
	{admin.Settle, "Settle: it was paid", "The bank's record shows exactly this amount as paid. The order ends as success."},
	{admin.Release, "Release: it was not paid", "Every attempt is proven unpaid. The order fails and the crypto is back in the balance."},
	{admin.Resume, "Resume: go on", "Nothing is out any more. The order goes on with its exchange or payout."},
}

// approval is a request for a second person, with why this person may not decide it.
type approval struct {
	*admin.Approval
	Barred string
	Order  string // as people call it
}

// barred says why somebody may not decide a request, or nothing.
func barred(a *admin.Approval, who admin.Identity) string {
	switch {
	case a.State != admin.Open:
		return "It is decided already."
	case a.AskedBy == who.ID:
		return "You asked for this, so another person must decide it."
	case !admin.Can(who.Role, admin.Decide):
		return "Only an approver may decide it; your role is " + string(who.Role) + "."
	default:
		return ""
	}
}

func (p *Pages) order(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.showOrder(w, r, who, r.PathValue("id"), nil)
}

// showOrder shows a sale; with an error, what was asked for was refused.
func (p *Pages) showOrder(w http.ResponseWriter, r *http.Request, who admin.Identity, id string, refused error) {
	t, err := p.deps.Reads.Tale(r.Context(), id)
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	page := orderPage{Tale: t, Path: wayOf(t.Order), Events: p.timeline(t), Actions: actions, Who: who}
	list, err := p.approvals(r, who, admin.Query{Limit: listLimit, Filters: map[string]string{"order": t.Order.ID}})
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	page.Approvals = list
	for i := range list {
		if list[i].State == admin.Open {
			page.Open = &list[i]
		}
	}
	v := view{Title: "Order " + t.Order.Reference, Who: who, Page: &page}
	status := http.StatusOK
	if refused != nil {
		status, v.Problem = p.problem(r, refused)
		page.Form = askForm{r.PostFormValue("action"), r.PostFormValue("reason")}
	}
	p.show(w, r, status, "order", v)
}

// approvals lists requests for a second person as this person sees them.
func (p *Pages) approvals(r *http.Request, who admin.Identity, q admin.Query) ([]approval, error) {
	list, err := read[*admin.Approval](p, r, admin.Approvals, q)
	if err != nil {
		return nil, err
	}
	var out []approval
	for _, a := range list.Rows {
		out = append(out, approval{Approval: a, Barred: barred(a, who), Order: a.Order})
	}
	return out, nil
}

// wayOf is the states that an order went through.
func wayOf(o *offramp.Order) []offramp.State {
	var out []offramp.State
	for _, f := range o.History {
		if len(out) == 0 || out[len(out)-1] != f.To {
			out = append(out, f.To)
		}
	}
	return out
}

// ask asks a second person to settle, release or resume an order.
func (p *Pages) ask(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	id := r.PathValue("id")
	c, err := p.change(r, who)
	if err == nil {
		_, err = p.deps.Changes.AskApproval(r.Context(), c, admin.Action(r.PostFormValue("action")), id)
	}
	if err != nil {
		p.showOrder(w, r, who, id, err)
		return
	}
	back(w, r, "/admin/orders/"+url.PathEscape(id), "asked")
}

// decide approves or rejects what another person asked for.
func (p *Pages) decide(approve bool) func(http.ResponseWriter, *http.Request, admin.Identity) {
	return func(w http.ResponseWriter, r *http.Request, who admin.Identity) {
		c, err := p.change(r, who)
		if err == nil {
			_, err = p.deps.Changes.Decide(r.Context(), c, r.PathValue("id"), approve)
		}
		order := r.PostFormValue("order")
		next := "/admin/orders/" + url.PathEscape(order)
		rejected := "rejected"
		if order == "" { // a change of settings
			next, rejected = "/admin/review", "declined"
		}
		switch {
		case err != nil && order != "":
			p.showOrder(w, r, who, order, err)
		case err != nil:
			p.fail(w, r, who, err)
		case approve:
			back(w, r, next, "approved")
		default:
			back(w, r, next, rejected)
		}
	}
}
