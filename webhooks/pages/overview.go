package pages

import (
	"net/http"

	"offrampbot/services/admin"
)

func (p *Pages) overview(w http.ResponseWriter, r *http.Request, who admin.Identity) {
	p.show(w, r, http.StatusOK, "overview", view{Title: "Overview", Who: who})
}
