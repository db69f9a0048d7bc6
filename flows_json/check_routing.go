package flowsjson

import "slices"

// routing checks the map of screens to the screens that may follow: complete, forward only, without cycles, every path
// ending on a terminal screen. Going back is native and stands nowhere.
func (c *checker) routing(model *node) {
	c.routes = map[string][]string{}
	if model == nil {
		return
	}
	if model.kind != kindObject {
		c.at(model, "routing", "routing_model is not an object")
		return
	}
	inbound := map[string]bool{}
	for _, m := range model.members {
		if c.screens[m.key] == nil {
			c.report(m.at, m.value.pointer, "routing", "there is no screen "+m.key)
			continue
		}
		c.branches(m, inbound)
	}
	for _, s := range c.order {
		if s.id != "" && model.get(s.id) == nil {
			c.at(model, "routing", "screen %s is not listed", s.id)
		}
	}
	c.entry(model, inbound)
	c.cycles(model)
	c.ends(model)
}

// entry checks that there is one screen to begin with. Meta takes several; ours would be one that nobody ever reaches.
func (c *checker) entry(model *node, inbound map[string]bool) {
	first := ""
	for _, s := range c.order {
		switch {
		case s.id == "" || inbound[s.id]:
		case first == "":
			first = s.id
		default:
			c.at(s.node, "routing-orphan", "nothing leads to %s, and %s is the beginning", s.id, first)
		}
	}
	if first == "" {
		c.at(model, "routing-entry", "every screen is behind another; there is none to begin with")
	}
}

// branches checks the screens that may follow one screen.
func (c *checker) branches(m member, inbound map[string]bool) {
	if m.value.kind != kindArray {
		c.at(m.value, "routing", "the screens behind %s are not a list", m.key)
		return
	}
	if len(m.value.items) > maxBranches {
		c.at(m.value, "routing-branches", "%d screens behind %s, %d are allowed", len(m.value.items), m.key, maxBranches)
	}
	for _, item := range m.value.items {
		switch to := item.text; {
		case item.kind != kindString || c.screens[to] == nil:
			c.at(item, "routing", "there is no screen %q", to)
		case to == m.key:
			c.at(item, "routing-self", "screen %s leads to itself", to)
		case slices.Contains(c.routes[m.key], to):
			c.at(item, "routing", "screen %s is listed twice", to)
		default:
			c.routes[m.key] = append(c.routes[m.key], to)
			inbound[to] = true
		}
	}
}

// cycles reports each screen from which a path leads back to it: only forward edges are allowed.
func (c *checker) cycles(model *node) {
	for _, s := range c.order {
		if s.id == "" {
			continue
		}
		if c.reach(s.id, map[string]bool{})[s.id] {
			c.at(model.get(s.id), "routing-cycle", "a path leads from %s back to it", s.id)
		}
	}
}

// reach returns every screen that can follow, over any number of steps.
func (c *checker) reach(from string, seen map[string]bool) map[string]bool {
	for _, to := range c.routes[from] {
		if !seen[to] {
			seen[to] = true
			c.reach(to, seen)
		}
	}
	return seen
}

// ends checks that nobody is stuck: a screen without a way on is terminal, and a terminal one has no way on.
func (c *checker) ends(model *node) {
	for _, s := range c.order {
		at := model.get(s.id)
		if at == nil {
			continue
		}
		switch onward := len(c.routes[s.id]) > 0; {
		case !onward && !s.terminal:
			c.at(at, "routing-end", "the path ends on %s, which is not terminal", s.id)
		case onward && s.terminal:
			c.at(at, "routing-end", "%s is terminal and leads on", s.id)
		}
	}
}
