package pages

import (
	"net/http"
	"net/url"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/offramp"
	"offrampbot/services/story"
)

// listLimit is how many rows a page shows.
const listLimit = 50

// listing is a list with its filters and the way on.
type listing[T any] struct {
	Text    string
	Filters map[string]string
	Rows    []T
	Next    string // address of the next page, empty on the last
	First   string // address of the first page, empty on it
	CSV     string // address of the whole list as a file
	Filter  bool   // something narrows the list
}

// query reads what the address asks of a list. Names that the list does not know are left out: the form has sent none.
func query(r *http.Request, list admin.List) admin.Query {
	values := r.URL.Query()
	q := admin.Query{Text: values.Get("q"), Cursor: values.Get("cursor"), Limit: listLimit, Filters: map[string]string{}}
	for _, name := range admin.Filters(list) {
		if v := values.Get(name); v != "" {
			q.Filters[name] = completeTime(name, v)
		}
	}
	return q
}

// completeTime completes a time that a browser's field has left without its zone: these pages speak UTC.
func completeTime(name, value string) string {
	if name != "from" && name != "until" {
		return value
	}
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02"} {
		if at, err := time.Parse(form, value); err == nil {
			return at.Format(time.RFC3339)
		}
	}
	return value
}

// read lists one page of rows of one type.
func read[T any](p *Pages, r *http.Request, list admin.List, q admin.Query) (listing[T], error) {
	page, err := p.deps.Reads.List(r.Context(), list, q)
	if err != nil {
		return listing[T]{}, err
	}
	out := listing[T]{Text: q.Text, Filters: q.Filters, Filter: q.Text != "" || len(q.Filters) > 0}
	for _, item := range page.Items {
		if row, ok := item.(T); ok {
			out.Rows = append(out.Rows, row)
		}
	}
	if page.Next != "" {
		out.Next = address(r.URL.EscapedPath(), q, "cursor", page.Next)
	}
	if q.Cursor != "" {
		out.First = address(r.URL.EscapedPath(), q, "", "")
	}
	out.CSV = address("/admin/api/v1/"+string(list), q, "format", "csv")
	return out, nil
}

// address is where the same question is asked, with one more parameter.
func address(path string, q admin.Query, name, value string) string {
	v := url.Values{}
	for name, value := range q.Filters {
		v.Set(name, value)
	}
	if q.Text != "" {
		v.Set("q", q.Text)
	}
	if name != "" {
		v.Set(name, value)
	}
	return path + "?" + v.Encode()
}

// orderList is the page of sales.
type orderList struct {
	listing[story.OrderRow]
	States []offramp.State
}

func (p *Pages) orders(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	q := query(r, admin.Orders)
	list, err := read[story.OrderRow](p, r, admin.Orders, q)
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	if q.Text != "" && q.Cursor == "" && len(list.Rows) == 1 && len(q.Filters) == 0 {
		http.Redirect(w, r, "/admin/orders/"+url.PathEscape(list.Rows[0].ID), http.StatusSeeOther)
		return
	}
	p.show(w, r, http.StatusOK, "orders", view{Title: "Orders", Who: who, Page: orderList{list, offramp.States()}})
}

// change is one mutation that a form asks for, under the form's own key: pressing the button twice is one request.
func (p *Pages) change(r *http.Request, who admin.Identity) (admin.Change, error) {
	if err := r.ParseForm(); err != nil {
		return admin.Change{}, fault.New("body_invalid", err)
	}
	key := r.PostFormValue("key")
	if key == "" || len(key) > 128 {
		return admin.Change{}, fault.New("body_invalid", nil).With("why", "The form has no key; open the page again")
	}
	return admin.Change{Who: who, Reason: r.PostFormValue("reason"), Request: admin.Request{
		Scope: admin.Scope{Admin: who.ID, Method: r.Method, Route: "page", Key: key},
		Hash:  admin.RequestHash(r.URL.Path, []byte(r.PostForm.Encode())),
	}}, nil
}
