package pages

import (
	"net/http"
	"strings"

	"offrampbot/services/admin"
	"offrampbot/services/setting"
)

// settingGroup is settings that belong together.
type settingGroup struct {
	Title, Means string
	Items        []settingItem
}

// settingItem is one setting with what was typed for it when it was refused.
type settingItem struct {
	setting.Item
	Switch bool // on or off, off with a reason
	Open   bool
	Typed  string
}

// groups are the headings of the settings, by the beginning of their names.
var groups = []struct{ prefix, title, means string }{
	{"drain", "Drain", "Stops new sales everywhere; those placed are finished."},
	{"switch.", "Switches", "Stop one chain, token, provider, venue or country."},
	{"rate", "Rates", "What one token is worth. A rate that is too old stops sales."},
	{"spread", "Spread", "What is kept of the rate."},
	{"fee", "Fees", "What a sale costs."},
	{"limit", "Limits", "What a user may sell, by tier."},
	{"", "Other", ""},
}

func (p *Pages) settings(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.showSettings(w, r, who, nil)
}

func (p *Pages) showSettings(w http.ResponseWriter, r *http.Request, who admin.Identity, refused error) {
	page := make([]settingGroup, len(groups))
	for i, g := range groups {
		page[i].Title, page[i].Means = g.title, g.means
	}
	q := admin.Query{Limit: 200}
	for {
		list, err := p.deps.Reads.List(r.Context(), admin.Settings, q)
		if err != nil {
			p.fail(w, r, who, err)
			return
		}
		for _, one := range list.Items {
			item, ok := one.(setting.Item)
			if !ok {
				continue
			}
			for i, g := range groups {
				if strings.HasPrefix(item.Name, g.prefix) {
					page[i].Items = append(page[i].Items, p.settingItem(r, item, refused))
					break
				}
			}
		}
		if q.Cursor = list.Next; q.Cursor == "" {
			break
		}
	}
	v := view{Title: "Settings", Who: who, Page: page}
	status := http.StatusOK
	if refused != nil {
		status, v.Problem = p.problem(r, refused)
	}
	p.show(w, r, status, "settings", v)
}

func (p *Pages) settingItem(r *http.Request, item setting.Item, refused error) settingItem {
	out := settingItem{Item: item, Switch: strings.HasPrefix(item.Name, "switch.") || item.Name == "drain", Typed: item.Value}
	if refused != nil && r.PostFormValue("name") == item.Name {
		out.Open, out.Typed = true, r.PostFormValue("value")
	}
	return out
}

// setSetting changes one setting. Switching something off needs the reason in the value too: users' texts are made of it.
func (p *Pages) setSetting(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	c, err := p.change(r, who)
	name, value := r.PostFormValue("name"), strings.TrimSpace(r.PostFormValue("value"))
	if value == "off" && strings.HasPrefix(name, "switch.") {
		value = "off:" + strings.TrimSpace(c.Reason)
	}
	var changed admin.Changed
	if err == nil {
		changed, err = p.deps.Changes.PutSettings(r.Context(), c, map[string]string{name: value})
	}
	if err != nil {
		p.showSettings(w, r, who, err)
		return
	}
	if changed.Status == http.StatusAccepted {
		back(w, r, "/admin/settings", "waits")
		return
	}
	back(w, r, "/admin/settings", "set")
}
