package pages

import (
	"net/http"
	"net/url"

	"offrampbot/services/admin"
	"offrampbot/services/audit"
	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/ledger"
	"offrampbot/services/story"
)

// parked shows records that wait for a person: receipts that nobody could handle, operations that could not be carried
// out.
func (p *Pages) parked(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.showParked(w, r, who, nil)
}

func (p *Pages) showParked(w http.ResponseWriter, r *http.Request, who admin.Identity, refused error) {
	q := query(r, admin.Parked)
	list, err := read[story.ParkedRow](p, r, admin.Parked, q)
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	v := view{Title: "Parked", Who: who, Page: list}
	status := http.StatusOK
	if refused != nil {
		status, v.Problem = p.problem(r, refused)
	}
	p.show(w, r, status, "parked", v)
}

// redrive tries a parked record again.
func (p *Pages) redrive(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	c, err := p.change(r, who)
	if err == nil {
		_, err = p.deps.Changes.Redrive(r.Context(), c, r.PathValue("id"))
	}
	if err != nil {
		p.showParked(w, r, who, err)
		return
	}
	back(w, r, "/admin/parked", "redriven")
}

// duplicates shows confirmations that were refused because the sale exists already.
func (p *Pages) duplicates(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	showList[*audit.Entry](p, w, r, who, admin.Duplicates, "duplicates", "Blocked duplicates")
}

// deposits shows on-chain credits, those of nobody too.
func (p *Pages) deposits(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	showList[*deposit.Deposit](p, w, r, who, admin.Deposits, "deposits", "Deposits")
}

// audit shows the trail.
func (p *Pages) audit(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	showList[*audit.Entry](p, w, r, who, admin.Audit, "audit", "Audit trail")
}

// showList shows a list that needs nothing but its rows.
func showList[T any](p *Pages, w http.ResponseWriter, r *http.Request, who admin.Identity, which admin.List, name, title string) {
	list, err := read[T](p, r, which, query(r, which))
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	p.show(w, r, http.StatusOK, name, view{Title: title, Who: who, Page: list})
}

// ledgerPage is a list of balances, or of postings when an account, an order or a time is asked for.
type ledgerPage struct {
	listing[any]
	Accounts []story.AccountRow
	Postings []*ledger.Posting
}

func (p *Pages) ledger(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	list, err := read[any](p, r, admin.Ledger, query(r, admin.Ledger))
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	page := ledgerPage{listing: list}
	for _, item := range list.Rows {
		switch row := item.(type) {
		case story.AccountRow:
			if row.Kind != "state" {
				page.Accounts = append(page.Accounts, row)
			}
		case *ledger.Posting:
			page.Postings = append(page.Postings, row)
		}
	}
	p.show(w, r, http.StatusOK, "ledger", view{Title: "Ledger", Who: who, Page: page})
}

// userPage is one person with money, sales and trail.
type userPage struct {
	story.UserRow
	Accounts []story.AccountRow
	Orders   []story.OrderRow
	Trail    []*audit.Entry
}

func (p *Pages) users(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	q := query(r, admin.Users)
	list, err := read[story.UserRow](p, r, admin.Users, q)
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	if q.Text != "" && q.Cursor == "" && len(list.Rows) == 1 && len(q.Filters) == 0 {
		http.Redirect(w, r, "/admin/users/"+url.PathEscape(list.Rows[0].ID), http.StatusSeeOther)
		return
	}
	p.show(w, r, http.StatusOK, "users", view{Title: "Users", Who: who, Page: list})
}

func (p *Pages) user(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.showUser(w, r, who, nil)
}

func (p *Pages) showUser(w http.ResponseWriter, r *http.Request, who admin.Identity, refused error) {
	page, err := p.readUser(r, r.PathValue("id"))
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	v := view{Title: "User " + page.Name, Who: who, Page: page}
	status := http.StatusOK
	if refused != nil {
		status, v.Problem = p.problem(r, refused)
	}
	p.show(w, r, status, "user", v)
}

func (p *Pages) readUser(r *http.Request, id string) (userPage, error) {
	var page userPage
	people, err := read[story.UserRow](p, r, admin.Users, admin.Query{Text: id, Limit: listLimit})
	if err != nil {
		return page, err
	}
	for _, row := range people.Rows {
		if row.ID == id {
			page.UserRow = row
		}
	}
	if page.ID == "" {
		return page, fault.New("user_unknown", nil)
	}
	accounts, err := read[story.AccountRow](p, r, admin.Ledger, admin.Query{Text: id, Limit: listLimit})
	if err != nil {
		return page, err
	}
	orders, err := read[story.OrderRow](p, r, admin.Orders, admin.Query{Limit: 20, Filters: map[string]string{"user": id}})
	if err != nil {
		return page, err
	}
	trail, err := read[*audit.Entry](p, r, admin.Audit, admin.Query{Limit: 20, Filters: map[string]string{"stream": "user:" + id}})
	page.Accounts, page.Orders, page.Trail = accounts.Rows, orders.Rows, trail.Rows
	return page, err
}

// aboutUser freezes, unlocks or frees a user; what is the sentence that says so afterwards.
func (p *Pages) aboutUser(what string) func(http.ResponseWriter, *http.Request, admin.Identity) {
	return func(w http.ResponseWriter, r *http.Request, who admin.Identity) {
		id := r.PathValue("id")
		c, err := p.change(r, who)
		if err == nil {
			switch what {
			case "frozen":
				_, err = p.deps.Changes.FreezeUser(r.Context(), c, id)
			case "unlocked":
				_, err = p.deps.Changes.UnlockUser(r.Context(), c, id)
			default:
				_, err = p.deps.Changes.UnfreezeUser(r.Context(), c, id)
			}
		}
		if err != nil {
			p.showUser(w, r, who, err)
			return
		}
		back(w, r, "/admin/users/"+url.PathEscape(id), what)
	}
}
