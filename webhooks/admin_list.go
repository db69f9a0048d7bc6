package webhooks

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
)

const (
	defaultLimit = 50
	maxLimit     = 200
	maxParameter = 256 // bytes of one query parameter
)

// list answers a list as JSON, or whole as CSV.
func (e *Edge) list(which admin.List) handler {
	return func(c *gin.Context) error {
		query, format, err := readQuery(c.Request.URL.RawQuery, which)
		if err != nil {
			return err
		}
		if format == "csv" {
			return e.export(c, which, query)
		}
		page, err := e.deps.Reads.List(c.Request.Context(), which, query)
		if err != nil {
			return err
		}
		if page.Items == nil {
			page.Items = []any{}
		}
		writeJSON(c, http.StatusOK, page)
		return nil
	}
}

// readQuery takes only names that the list knows, each once: a name that is ignored would give an answer to another
// question than the one asked.
func readQuery(raw string, which admin.List) (q admin.Query, format string, err error) {
	invalid := func(why string) error { return fault.New("body_invalid", nil).With("why", why) }
	values, err := url.ParseQuery(raw)
	if err != nil {
		return admin.Query{}, "", invalid("The query string cannot be read")
	}
	q = admin.Query{Limit: defaultLimit, Filters: map[string]string{}}
	for name, given := range values {
		if len(given) != 1 || len(given[0]) > maxParameter {
			return admin.Query{}, "", invalid("A parameter stands there twice or is too long")
		}
		value := given[0]
		switch {
		case name == "q":
			q.Text = value
		case name == "cursor":
			q.Cursor = value
		case name == "limit":
			if q.Limit, err = strconv.Atoi(value); err != nil || q.Limit < 1 || q.Limit > maxLimit {
				return admin.Query{}, "", invalid("The limit is not a number from 1 to 200")
			}
		case name == "format":
			if format = value; format != "csv" && format != "json" {
				return admin.Query{}, "", invalid("The format is not json or csv")
			}
		case slices.Contains(admin.Filters(which), name):
			if value != "" {
				q.Filters[name] = value
			}
		default:
			return admin.Query{}, "", invalid("This list does not know one of the parameters")
		}
	}
	return q, format, nil
}

// order answers one order with its whole story.
func (e *Edge) order(c *gin.Context) error {
	story, err := e.deps.Reads.Order(c.Request.Context(), c.Param("id"))
	if err != nil {
		return err
	}
	writeJSON(c, http.StatusOK, story)
	return nil
}
