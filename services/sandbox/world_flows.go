package sandbox

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// openLever is the request of POST /world/flows/open.
type openLever struct {
	Phone string `json:"phone"`
	Wamid string `json:"wamid"`
}

// submitLever is the request of POST /world/flows/submit; data is the payload of the footer, or of what is tapped instead.
type submitLever struct {
	Session string         `json:"session"`
	Screen  string         `json:"screen"`
	Tap     *tapped        `json:"tap"`
	Data    map[string]any `json:"data"`
	Copies  int            `json:"copies"`
}

// backLever is the request of POST /world/flows/back.
type backLever struct {
	Session string `json:"session"`
	Screen  string `json:"screen"` // the screen to go back to
}

func (w *World) openWorldFlow(c *gin.Context, in openLever) (any, error) {
	key, err := personKey(in.Phone)
	if err != nil {
		return nil, invalid("phone_invalid", "phone: %v", err)
	}
	state, err := w.openFlowOn(c.Request.Context(), key, in.Wamid)
	return w.shown(c, state, err)
}

func (w *World) submitWorldFlow(c *gin.Context, in submitLever) (any, error) {
	copies, err := copiesOf(in.Copies)
	if err != nil {
		return nil, err
	}
	if in.Data == nil {
		in.Data = map[string]any{}
	}
	states, err := w.submitFlow(c.Request.Context(), in.Session, in.Screen, in.Tap, in.Data, copies)
	if err != nil {
		return nil, err
	}
	if in.Copies > 1 {
		return listOf(states), nil
	}
	return w.shown(c, states[0], nil)
}

func (w *World) backWorldFlow(c *gin.Context, in backLever) (any, error) {
	state, err := w.backFlow(c.Request.Context(), in.Session, in.Screen)
	return w.shown(c, state, err)
}

// shown writes one state: with ?view=1 what the page draws is in it; a complaint of the client is a 422 that still
// tells the whole state.
func (w *World) shown(c *gin.Context, state flowState, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if c.Query("view") != "" {
		if s := w.sessions.get(state.Session); s != nil {
			state.View = s.view(state.Screen)
		}
	}
	if state.Error != "" {
		c.JSON(http.StatusUnprocessableEntity, state)
		return nil, errAnswered
	}
	return state, nil
}

// getFlowSession tells what a session shows now, with the screen's layout.
func (w *World) getFlowSession(c *gin.Context) {
	s := w.sessions.get(c.Param("session"))
	if s == nil {
		w.respond(c, nil, notFound("session_unknown", "there is no Flow session %q", c.Param("session")))
		return
	}
	s.mu.Lock()
	state := s.state(http.StatusOK)
	s.mu.Unlock()
	state.View = s.view(state.Screen)
	c.JSON(http.StatusOK, state)
}
