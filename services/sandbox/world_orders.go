package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/gin-gonic/gin"
)

// OrderState is a state that an order of the bot can be in, for the picture on the phone page.
type OrderState struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	Final   bool   `json:"final"`
}

// OrderEdge says that an order may go from one state to another, and by which events. From is "" where orders begin.
type OrderEdge struct {
	From   string   `json:"from"`
	To     string   `json:"to"`
	Events []string `json:"events"`
}

// OrderTable is the life of the bot's orders as whoever makes the world knows it; the world itself knows nothing of it.
type OrderTable struct {
	States []OrderState `json:"states"`
	Edges  []OrderEdge  `json:"edges"`
}

// orderFact is one line of an order's history.
type orderFact struct {
	Event string    `json:"event"`
	From  string    `json:"from"`
	To    string    `json:"to"`
	By    string    `json:"by"`
	At    time.Time `json:"at"`
}

// orderView is an order as the bot's staff see it: only what the picture needs. State is "" with a Problem.
type orderView struct {
	Reference string      `json:"reference"`
	State     string      `json:"state"`
	History   []orderFact `json:"history"`
	Problem   string      `json:"problem,omitempty"` // why nothing is known of it; no fault of who asks
}

func (w *World) getOrderTable(c *gin.Context) {
	table := OrderTable{States: []OrderState{}, Edges: []OrderEdge{}}
	table.States = append(table.States, w.cfg.Orders.States...)
	table.Edges = append(table.Edges, w.cfg.Orders.Edges...)
	c.JSON(http.StatusOK, table)
}

var orderPattern = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// getOrder tells where an order stands. The world does not look into the bot's store: it asks the bot's own staff API,
// as the second person of staff would.
func (w *World) getOrder(c *gin.Context) {
	reference := c.Param("reference")
	if !orderPattern.MatchString(reference) {
		w.respond(c, nil, invalid("reference_invalid", "%q is no reference of an order", reference))
		return
	}
	c.JSON(http.StatusOK, w.orderOf(c.Request.Context(), reference))
}

func (w *World) orderOf(ctx context.Context, reference string) orderView {
	view := orderView{Reference: reference, History: []orderFact{}}
	status, body, err := w.desk.read(ctx, "/admin/api/v1/orders/"+url.PathEscape(reference))
	if err != nil {
		view.Problem = "the bot's staff pages do not answer: " + err.Error()
		return view
	}
	if status != http.StatusOK {
		view.Problem = fmt.Sprintf("the bot's staff pages answered %d", status)
		return view
	}
	var tale struct {
		Order struct {
			Reference string `json:"reference"`
			State     string `json:"state"`
		} `json:"order"`
		History []orderFact `json:"history"`
	}
	if err := json.Unmarshal(body, &tale); err != nil || tale.Order.State == "" {
		view.Problem = "the bot's staff pages answered something else than an order"
		return view
	}
	view.Reference, view.State = tale.Order.Reference, tale.Order.State
	view.History = append(view.History, tale.History...)
	return view
}
