package admin

import "encoding/json"

// The types of this file are what staff ask for, over HTTP or on a page: the edge fills them, a service answers.

// List names one list of the admin API.
type List string

// The lists.
const (
	Orders     List = "orders"     // sales
	Audit      List = "audit"      // the trail
	Duplicates List = "duplicates" // blocked confirmations
	Deposits   List = "deposits"   // on-chain credits
	Ledger     List = "ledger"     // accounts and postings
	Parked     List = "parked"     // receipts and operations that wait for a person
	Settings   List = "settings"   // every setting with its value
	Approvals  List = "approvals"  // requests that need a second person
	Users      List = "users"      // people, with masked numbers
)

// Lists lists the lists.
func Lists() []List {
	return []List{Orders, Audit, Duplicates, Deposits, Ledger, Parked, Settings, Approvals, Users}
}

// filters are the names that each list can be narrowed by; from and until are RFC 3339 times.
var filters = map[List][]string{
	Orders:     {"state", "user", "from", "until"},
	Audit:      {"stream", "actor", "action", "from", "until"},
	Duplicates: {"from", "until"},
	Deposits:   {"state", "user", "chain", "suspense", "from", "until"},
	Ledger:     {"account", "order", "from", "until"},
	Parked:     {"kind"},
	Settings:   {},
	Approvals:  {"state", "order"},
	Users:      {"status", "frozen", "from", "until"},
}

// Filters lists the names that a list can be narrowed by.
func Filters(l List) []string { return append([]string(nil), filters[l]...) }

// Query is what a list is asked for. Filters holds only names of Filters(list), none of them empty.
type Query struct {
	Text    string // exact look-up in links; empty: everything
	Cursor  string // Next of the page before
	Limit   int    // 1 to 200
	Filters map[string]string
}

// Page is one page of a list. Items are encoded as they are; Next is empty on the last page.
type Page struct {
	Items []any  `json:"items"`
	Next  string `json:"next"`
}

// Change is one mutating request of staff. Whoever carries it out uses Once, or Recall and Remember in the transaction
// of the effect, so that a repeat of the request gives the same answer.
type Change struct {
	Who     Identity
	Request Request
	Reason  string
}

// Changed is the answer to a Change.
type Changed struct {
	Status   int // HTTP status of a success
	Body     json.RawMessage
	Repeated bool // the stored answer of an earlier request with the same key
}
