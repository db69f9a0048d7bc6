package pages

import (
	"net/http"

	"offrampbot/services/admin"
	"offrampbot/services/offramp"
	"offrampbot/services/story"
)

// reviewPage is what waits for a person's decision.
type reviewPage struct {
	Open    []approval
	Waiting []story.OrderRow // in review, nobody has asked for anything
	More    string           // address of the rest
	Decided []approval
	Who     admin.Identity
}

// review shows requests that wait for a second person, then orders that wait for a first one.
func (p *Pages) review(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	page, err := p.queue(r, who)
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	p.show(w, r, http.StatusOK, "review", view{Title: "Review", Who: who, Page: page})
}

func (p *Pages) queue(r *http.Request, who admin.Identity) (reviewPage, error) {
	page := reviewPage{Who: who}
	orders, err := read[story.OrderRow](p, r, admin.Orders, admin.Query{
		Limit: listLimit, Filters: map[string]string{"state": string(offramp.Review)},
	})
	if err != nil {
		return page, err
	}
	if orders.Next != "" {
		page.More = "/admin/orders?state=review"
	}
	names := map[string]string{}
	for _, o := range orders.Rows {
		names[o.ID] = o.Reference
	}
	all, err := p.approvals(r, who, admin.Query{Limit: listLimit, Filters: map[string]string{"state": string(admin.Open)}})
	if err != nil {
		return page, err
	}
	asked := map[string]bool{}
	for _, a := range all {
		if name := names[a.Approval.Order]; name != "" {
			a.Order = name
		}
		asked[a.Approval.Order] = true
		page.Open = append(page.Open, a)
	}
	for _, o := range orders.Rows {
		if !asked[o.ID] {
			page.Waiting = append(page.Waiting, o)
		}
	}
	latest, err := p.approvals(r, who, admin.Query{Limit: 20, Filters: map[string]string{}})
	for _, a := range latest {
		if a.State != admin.Open {
			page.Decided = append(page.Decided, a)
		}
	}
	return page, err
}
