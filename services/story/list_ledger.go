package story

import (
	"errors"
	"strings"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/figures"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/store"
)

// AccountRow is one account of the ledger in the list of balances.
type AccountRow struct {
	// Kind is user: a guarded document; system: a sum of postings; total: the sum of all users' accounts of one kind;
	// state: the number of orders in a state, as Balance.
	Kind      string      `json:"kind"`
	Account   string      `json:"account"`
	User      string      `json:"user,omitempty"`
	Asset     string      `json:"asset"`
	Balance   int64       `json:"balance"` // credits less debits: what we hold is negative, what we owe positive
	Available money.Micro `json:"available"`
	Held      money.Micro `json:"held"`
	Incoming  money.Micro `json:"incoming"`
	Owed      money.Micro `json:"owed"`
}

// ledgerList lists balances; with account, order or times it lists postings. q takes the postings of the order, or the
// accounts of the user, that an id leads to.
func (s *Story) ledgerList(r store.Reader, a ask) (admin.Page, error) {
	order := a.Filters["order"]
	if a.Text != "" || order != "" {
		text := a.Text
		if text == "" {
			text = order
		}
		f, err := s.resolve(r, text)
		switch {
		case err != nil:
			return admin.Page{}, err
		case len(f.orders) > 0:
			order = f.orders[0]
		case a.Text != "" && len(f.users) > 0:
			return userAccounts(r, a, f.users[0])
		default:
			return nothing, nil
		}
	}
	switch {
	case order != "":
		return page(r, a, source[*ledger.Posting]{
			query: store.Query{Collection: store.Postings, Index: "order", Equal: []any{order}, From: a.from, Until: a.until},
			place: func(p *ledger.Posting) []any { return []any{p.Order, p.At} },
			keep: func(p *ledger.Posting) bool {
				return a.is("account", p.Debit) || a.is("account", p.Credit)
			},
		}, false)
	case a.Filters["account"] != "":
		return mergedPage(r, a, []merged{postingsOf(a.Filters["account"], "debit"), postingsOf(a.Filters["account"], "credit")})
	case a.from != nil || a.until != nil:
		return page(r, a, source[*ledger.Posting]{
			query: store.Query{Collection: store.Postings, Index: "at", From: a.from, Until: a.until},
			place: func(p *ledger.Posting) []any { return []any{p.At} },
		}, false)
	default:
		return accounts(r, a)
	}
}

// postingsOf is the scan of the postings that have an account on one side. A posting has it on one side only.
func postingsOf(account, side string) merged {
	return merged{
		q: store.Query{Collection: store.Postings, Index: side, Equal: []any{account}},
		scan: scanOf(func(p *ledger.Posting) row {
			return row{at: p.At, id: p.ID, item: p}
		}),
	}
}

// The parts of the list of balances, in their order.
const (
	systemPart = "system"
	userPart   = "user"
)

// accounts lists balances: first system accounts and counts of orders by state, as roll-ups with their open tail, then
// every user's account by id.
func accounts(r store.Reader, a ask) (admin.Page, error) {
	part, place := systemPart, ""
	if a.after != nil {
		var okPart, okPlace bool
		if len(a.after) == 2 {
			part, okPart = a.after[0].(string)
			place, okPlace = a.after[1].(string)
		}
		if !okPart || !okPlace {
			return admin.Page{}, store.ErrIndex
		}
	}
	out := admin.Page{Items: []any{}}
	if part == systemPart {
		sums, err := figures.Read(r)
		if errors.Is(err, figures.ErrBehind) { // a list of sums that lack something would be believed
			return out, fault.New("store_unavailable", err)
		}
		if err != nil {
			return out, err
		}
		for _, s := range sums {
			if key := string(s.Kind) + " " + s.Name; key > place {
				if len(out.Items) == a.Limit {
					out.Next, err = store.Cursor{systemPart, place}.Encode()
					return out, err
				}
				place = key
				out.Items = append(out.Items, showSum(s))
			}
		}
		if len(out.Items) == a.Limit {
			out.Next, err = store.Cursor{userPart, ""}.Encode()
			return out, err
		}
		place = ""
	}
	a.Limit -= len(out.Items)
	if a.after = nil; place != "" {
		a.after = store.Cursor{place}
	}
	return usersBehind(r, a, out)
}

// usersBehind fills a page with users' accounts.
func usersBehind(r store.Reader, a ask, out admin.Page) (admin.Page, error) {
	users, err := page(r, a, source[*ledger.Account]{
		query: store.Query{Collection: store.Accounts, Index: store.ByID},
		place: func(*ledger.Account) []any { return nil },
		show:  showAccount,
	}, true)
	if err != nil {
		return out, err
	}
	out.Items = append(out.Items, users.Items...)
	if users.Next == "" {
		return out, nil
	}
	last, ok := users.Items[len(users.Items)-1].(AccountRow)
	if !ok {
		return out, store.ErrIndex
	}
	out.Next, err = store.Cursor{userPart, last.Account}.Encode()
	return out, err
}

func showSum(s figures.Sum) any {
	kind := "system"
	switch {
	case s.Kind == figures.State:
		kind = "state"
	case strings.Contains(s.Name, "*"):
		kind = "total"
	}
	return AccountRow{Kind: kind, Account: s.Name, Asset: s.Asset, Balance: s.Balance}
}

// userAccounts lists one user's accounts.
func userAccounts(r store.Reader, a ask, user string) (admin.Page, error) {
	return page(r, a, source[*ledger.Account]{
		query: store.Query{Collection: store.Accounts, Index: "user", Equal: []any{user}},
		place: func(p *ledger.Account) []any { return []any{p.User} },
		show:  showAccount,
	}, true)
}

func showAccount(p *ledger.Account) any {
	return AccountRow{
		Kind: "user", Account: p.ID, User: p.User, Asset: p.Asset, Balance: int64(p.Available + p.Held), Available: p.Available,
		Held: p.Held, Incoming: p.Incoming, Owed: p.Owed,
	}
}
