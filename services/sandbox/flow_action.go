package sandbox

// flowAction is what a component does when it is tapped.
type flowAction struct {
	name    string // data_exchange, navigate, complete, open_url, update_data
	next    string // of navigate
	payload map[string]any
}

// footer returns the action of the screen's footer as it is shown with this data.
func (s *flowScreen) footer(b bindings) (flowAction, bool) {
	var found *flowAction
	s.components(b, func(c map[string]any) {
		if c["type"] == "Footer" && found == nil {
			a := actionIn(c)
			found = &a
		}
	})
	if found == nil {
		return flowAction{}, false
	}
	return *found, true
}

// tapped names what was tapped instead of the footer: a component by its name, or a link by its text; of a NavigationList
// also the item.
type tapped struct {
	Component string `json:"component"`
	Item      string `json:"item"`
}

// actionOf returns the action of a component that can be tapped. An item's own action goes before its list's.
func (s *flowScreen) actionOf(b bindings, on tapped) (flowAction, bool) {
	var found flowAction
	s.components(b, func(c map[string]any) {
		if found.name != "" || (text(c["name"]) != on.Component && text(b.resolve(c["text"])) != on.Component) {
			return
		}
		found = actionIn(c)
		items, _ := b.resolve(c["list-items"]).([]any)
		for _, item := range items {
			one, _ := item.(map[string]any)
			if own := actionIn(one); text(one["id"]) == on.Item && own.name != "" {
				found = own
			}
		}
	})
	return found, found.name != ""
}

// actionIn reads what a component or an item does when it is tapped.
func actionIn(c map[string]any) flowAction {
	raw, _ := c["on-click-action"].(map[string]any)
	a := flowAction{name: text(raw["name"])}
	a.payload, _ = raw["payload"].(map[string]any)
	if next, ok := raw["next"].(map[string]any); ok {
		a.next = text(next["name"])
	}
	return a
}
