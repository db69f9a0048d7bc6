package flowsjson

import "slices"

// action checks what a component does when it is used. property is the one it stands in, component whose.
func (w *walk) action(n *node, property, component string) {
	if !n.is(kindObject) {
		w.at(n, "action", "%s is not an object", property)
		return
	}
	switch name := n.str("name"); name {
	case "navigate":
		w.known(n, []string{"name", "next", "payload"})
		w.navigate(n)
		w.payload(n)
	case "data_exchange":
		w.known(n, []string{"name", "payload"})
		if !w.endpoint {
			w.at(n, "action", "data_exchange needs a data_api_version")
		}
		w.payload(n)
	case "complete":
		w.known(n, []string{"name", "payload"})
		if component != "Footer" {
			w.at(n, "action", "complete stands outside a Footer")
		}
		w.payload(n)
	case "open_url":
		w.known(n, []string{"name", "url"})
		if n.str("url") == "" {
			w.at(n, "action", "open_url has no url")
		}
		if !slices.Contains([]string{"EmbeddedLink", "OptIn"}, component) {
			w.at(n, "action", "open_url stands on a %s", component)
		}
		w.since(n, "6.0")
	case "update_data":
		w.known(n, []string{"name", "payload"})
		w.since(n, "6.0")
		w.payload(n)
	default:
		w.at(n, "action", "action %q is not known", name)
	}
}

func (w *walk) since(n *node, version string) {
	if older(w.version, version) {
		w.at(n, "component-version", "%s needs version %s", n.str("name"), version)
	}
}

func (w *walk) navigate(n *node) {
	next := n.get("next")
	to := next.str("name")
	switch {
	case !next.is(kindObject) || next.str("type") != "screen" || w.screens[to] == nil:
		w.at(n, "action", "navigate leads to no screen")
	case len(w.routes) > 0 && !slices.Contains(w.routes[w.id], to):
		w.at(next, "routing", "navigate leads to %s, which does not follow %s", to, w.id)
	}
}

// payload checks what an action sends: an object whose bindings name declared data and fields that exist.
func (w *walk) payload(n *node) {
	payload := n.get("payload")
	if !payload.is(kindObject) {
		w.at(n, "payload", "%s has no payload object", n.str("name"))
		return
	}
	w.bind(payload, "")
}
