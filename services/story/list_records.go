package story

import (
	"offrampbot/services/admin"
	"offrampbot/services/audit"
	"offrampbot/services/deposit"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// nothing is the page of a search that found nothing.
var nothing = admin.Page{Items: []any{}}

// auditList lists the trail by stream, actor, action or time; q takes the stream of the order or user it leads to.
func (s *Story) auditList(r store.Reader, a ask) (admin.Page, error) {
	stream := a.Filters["stream"]
	if a.Text != "" {
		found, err := s.streamOf(r, a.Text)
		if err != nil || found == "" || stream != "" && stream != found {
			return nothing, err
		}
		stream = found
	}
	return trail(r, a, stream, nil)
}

// trail lists entries of one stream, or of all; also is one more condition.
func trail(r store.Reader, a ask, stream string, also func(e *audit.Entry) bool) (admin.Page, error) {
	src := source[*audit.Entry]{keep: func(e *audit.Entry) bool {
		return a.is("actor", e.Actor) && a.is("action", e.Action) && a.within(e.At) && (also == nil || also(e))
	}}
	src.query = store.Query{Collection: store.Audit, Index: "at", From: a.from, Until: a.until}
	src.place = func(e *audit.Entry) []any { return []any{e.At} }
	switch {
	case stream != "":
		src.query = store.Query{Collection: store.Audit, Index: "stream", Equal: []any{stream}}
		src.place = func(e *audit.Entry) []any { return []any{e.Stream, e.Seq} }
	case a.Filters["actor"] != "":
		src.query.Index, src.query.Equal = "actor", []any{a.Filters["actor"]}
		src.place = func(e *audit.Entry) []any { return []any{e.Actor, e.At} }
	case a.Filters["action"] != "":
		src.query.Index, src.query.Equal = "action", []any{a.Filters["action"]}
		src.place = func(e *audit.Entry) []any { return []any{e.Action, e.At} }
	}
	return page(r, a, src, false)
}

// streamOf is the trail of the order or user that an id leads to, "" for none. A stream's own name is one too.
func (s *Story) streamOf(r store.Reader, id string) (string, error) {
	var h head
	if err := r.Get(store.Heads, id, &h); err == nil {
		return id, nil
	}
	f, err := s.resolve(r, id)
	switch {
	case err != nil:
		return "", err
	case len(f.orders) > 0:
		return "order:" + f.orders[0], nil
	case len(f.users) > 0:
		return "user:" + f.users[0], nil
	}
	return "", nil
}

// duplicateList lists blocked confirmations: the audit entries that the refusals wrote. q takes those of the order or
// user it leads to.
func (s *Story) duplicateList(r store.Reader, a ask) (admin.Page, error) {
	a.Filters = with(a.Filters, "action", audit.DuplicateBlocked)
	if a.Text == "" {
		return trail(r, a, "", nil)
	}
	f, err := s.resolve(r, a.Text)
	switch {
	case err != nil:
		return nothing, err
	case len(f.orders) > 0:
		o, err := s.order(r, f.orders[0])
		if err != nil {
			return nothing, err
		}
		return trail(r, a, "user:"+o.User, func(e *audit.Entry) bool {
			return e.Data["intent"] == o.ID || e.Data["blocked_by"] == o.ID
		})
	case len(f.users) > 0:
		return trail(r, a, "user:"+f.users[0], nil)
	}
	return nothing, nil
}

// depositList lists on-chain credits by state, user, chain, suspense or time; q is a deposit ref, a transaction or an id
// of the user or order.
func (s *Story) depositList(r store.Reader, a ask) (admin.Page, error) {
	only, err := s.depositsOfText(r, &a)
	if err != nil || a.Text != "" && only == nil && a.Filters["user"] == "" {
		return nothing, err
	}
	src := source[*deposit.Deposit]{keep: func(d *deposit.Deposit) bool {
		return a.is("state", string(d.State)) && a.is("user", d.User) && a.is("chain", d.Chain) && a.within(d.SeenAt) &&
			a.is("suspense", yesNo(d.Suspense)) && (only == nil || only[d.ID])
	}}
	src.query = store.Query{Collection: store.Deposits, Index: "seen", From: a.from, Until: a.until}
	src.place = func(d *deposit.Deposit) []any { return []any{d.SeenAt} }
	switch {
	case len(only) == 1:
		for id := range only {
			src.query = store.Query{Collection: store.Deposits, Index: store.ByID, Equal: []any{id}}
		}
		src.place = func(*deposit.Deposit) []any { return nil }
	case a.Filters["user"] != "":
		src.query.Index, src.query.Equal = "user", []any{a.Filters["user"]}
		src.place = func(d *deposit.Deposit) []any { return []any{d.User, d.SeenAt} }
	case a.Filters["suspense"] == yes:
		src.query.Index, src.query.Equal = "suspense", []any{true}
		src.place = func(d *deposit.Deposit) []any { return []any{d.Suspense, d.SeenAt} }
	case a.Filters["state"] != "":
		src.query.Index, src.query.Equal = "state", []any{a.Filters["state"]}
		src.place = func(d *deposit.Deposit) []any { return []any{d.State, d.SeenAt} }
	case a.Filters["chain"] != "":
		src.query.Index, src.query.Equal = "chain", []any{a.Filters["chain"]}
		src.place = func(d *deposit.Deposit) []any { return []any{d.Chain, d.SeenAt} }
	}
	return page(r, a, src, false)
}

// yes and no are the values of a filter that is a truth value.
const (
	yes = "true"
	no  = "false"
)

func yesNo(b bool) string {
	if b {
		return yes
	}
	return no
}

// depositsOfText turns q into deposit refs, or into the user whose deposits are meant.
func (s *Story) depositsOfText(r store.Reader, a *ask) (map[string]bool, error) {
	if a.Text == "" {
		return nil, nil //nolint:nilnil // nil means "no such condition" here, on purpose
	}
	f, err := s.resolve(r, a.Text)
	if err != nil {
		return nil, err
	}
	if len(f.deposits) > 0 {
		only := map[string]bool{}
		var d deposit.Deposit
		for _, id := range f.deposits {
			only[id] = true
			if err := r.Get(store.Deposits, id, &d); err == nil && d.User != "" {
				a.Filters = with(a.Filters, "user", d.User)
			}
		}
		return only, nil
	}
	user := ""
	if len(f.users) > 0 {
		user = f.users[0]
	}
	if len(f.orders) > 0 {
		o, err := s.order(r, f.orders[0])
		if err != nil {
			return nil, err
		}
		list, err := depositsOf(r, o)
		only := map[string]bool{}
		for _, d := range list {
			only[d.ID] = true
		}
		a.Filters = with(a.Filters, "user", o.User)
		return only, err
	}
	if user != "" {
		a.Filters = with(a.Filters, "user", user)
	}
	return nil, nil //nolint:nilnil // the user is the condition
}

// approvalList lists requests for a second person by order, state or time of asking.
func (s *Story) approvalList(r store.Reader, a ask) (admin.Page, error) {
	src := source[*admin.Approval]{keep: func(p *admin.Approval) bool { return a.is("state", string(p.State)) }}
	order := a.Filters["order"]
	if a.Text != "" || order != "" {
		for _, text := range []string{a.Text, order} {
			if text == "" {
				continue
			}
			f, err := s.resolve(r, text)
			if err != nil || len(f.orders) == 0 {
				return nothing, err
			}
			order = f.orders[0]
		}
	}
	src.query = store.Query{Collection: store.Approvals, Index: "asked"}
	src.place = func(p *admin.Approval) []any { return []any{p.AskedAt} }
	if order != "" {
		src.query.Index, src.query.Equal = "order", []any{order}
		src.place = func(p *admin.Approval) []any { return []any{p.Order, p.AskedAt} }
	} else if state := a.Filters["state"]; state != "" {
		src.query.Index, src.query.Equal = "state", []any{state}
		src.place = func(p *admin.Approval) []any { return []any{p.State, p.AskedAt} }
	}
	return page(r, a, src, false)
}

// settingList lists every setting with its value, by name; q is a name.
func (s *Story) settingList(r store.Reader, a ask) (admin.Page, error) {
	current, err := setting.Load(r)
	if err != nil {
		return admin.Page{}, err
	}
	after := ""
	if len(a.after) > 0 {
		name, ok := a.after[0].(string)
		if !ok || len(a.after) != 1 {
			return admin.Page{}, store.ErrIndex
		}
		after = name
	}
	out := admin.Page{Items: []any{}}
	for _, item := range s.settings.List(current) {
		if item.Name <= after || a.Text != "" && item.Name != a.Text {
			continue
		}
		if len(out.Items) == a.Limit {
			last, _ := out.Items[a.Limit-1].(setting.Item) // they all are
			out.Next, err = store.Cursor{last.Name}.Encode()
			break
		}
		out.Items = append(out.Items, item)
	}
	return out, err
}
