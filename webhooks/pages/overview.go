package pages

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/offramp"
	"offrampbot/services/story"
)

// overviewPage is what is looked at first: what needs a person, what is under way, where the money is.
type overviewPage struct {
	Attention []tile
	Going     []story.StateNow
	Ended     []story.StateNow
	Money     []balance
	Chains    []chainAge
	Behind    bool // the counts and sums lack what happened lately
}

// tile is one number that somebody should act on when it is not zero.
type tile struct {
	Label, Path, Means string
	N                  int64
	Since              *time.Time
}

// balance is one system account with its meaning in words.
type balance struct {
	Account, Label, Amount string
}

type chainAge struct {
	Name   string
	Height int64
	Polled time.Time
	Old    bool
}

// staleChain is how long a chain may bring nothing new before it looks stuck: blocks come every few seconds.
const staleChain = 5 * time.Minute

func (p *Pages) overview(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	o, err := p.deps.Reads.Overview(r.Context())
	if err != nil {
		p.fail(w, r, who, err)
		return
	}
	p.show(w, r, http.StatusOK, "overview", view{Title: "Overview", Who: who, Page: p.overviewOf(o)})
}

func (p *Pages) overviewOf(o *story.Overview) overviewPage {
	page := overviewPage{Behind: o.Behind}
	by := map[offramp.State]story.StateNow{}
	for _, s := range o.States {
		by[s.State] = s
		if s.State.Final() {
			page.Ended = append(page.Ended, s)
		} else {
			page.Going = append(page.Going, s)
		}
	}
	since := func(s offramp.State) *time.Time {
		if oldest := by[s].Oldest; oldest != nil {
			return &oldest.UpdatedAt
		}
		return nil
	}
	page.Attention = []tile{
		{"Open approvals", "/admin/review", "wait for a second person", int64(o.Approvals), nil},
		{"In review", "/admin/review", "a person must decide", by[offramp.Review].Orders, since(offramp.Review)},
		{"Unclear", "/admin/orders?state=unclear", "the provider is being asked", by[offramp.Unclear].Orders, since(offramp.Unclear)},
		{"Parked records", "/admin/parked", "nobody could handle them", int64(o.Parked), nil},
	}
	slices.SortStableFunc(o.Accounts, func(a, b story.AccountRow) int { return cmp.Compare(rank(a.Account), rank(b.Account)) })
	for _, a := range o.Accounts {
		if label := accountLabel(a.Account); label != "" {
			page.Money = append(page.Money, balance{a.Account, label, p.amount(a.Asset, owed(a))})
		}
	}
	for _, c := range o.Chains {
		page.Chains = append(page.Chains, chainAge{
			Name: p.chain(c.Chain), Height: c.Height, Polled: c.PolledAt, Old: p.deps.Now().Sub(c.PolledAt) > staleChain,
		})
	}
	return page
}

// ranks is the order in which money is looked at: what people own first, then what is on its way, then what is ours.
var ranks = []string{"user", "due", "float", "fees", "suspense", "receivable", "treasury", "desk", "loss"}

func rank(account string) int {
	name, _, _ := strings.Cut(account, ":")
	if i := slices.Index(ranks, name); i >= 0 {
		return i
	}
	return len(ranks)
}

// accountLabel is an account's meaning in words, nothing for one that says nothing to a person.
func accountLabel(account string) string {
	parts := strings.Split(account, ":")
	of := ""
	if len(parts) > 1 {
		of = parts[1]
	}
	switch parts[0] {
	case "user":
		if parts[len(parts)-1] == "held" {
			return "Users' money on hold for sales"
		}
		return "Users' money, free to sell"
	case "receivable":
		return "Owed to us by users"
	case "float":
		return "Paid out through " + of
	case "due":
		return "Sold, not yet paid out"
	case "fees":
		return "Fees, less what providers took"
	case "desk":
		return "Desk's position"
	case "suspense":
		return "Suspense on " + of + ": belongs to nobody we know"
	case "treasury":
		return "Moved to the treasury"
	case "loss":
		return "Written off"
	default:
		return ""
	}
}

// owed turns a balance so that a person reads it as its label says: what we hold has a minus in the book.
func owed(a story.AccountRow) int64 {
	switch name, _, _ := strings.Cut(a.Account, ":"); name {
	case "receivable", "treasury", "loss":
		return -a.Balance
	default:
		return a.Balance
	}
}
