package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// problem is the body of every refusal.
type problem struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// writeErrors writes what a handler returned. It stands last in the chain, so nothing but a handler's error gets here.
func (e *Edge) writeErrors(c *gin.Context) {
	c.Next()
	if last := c.Errors.Last(); last != nil {
		e.end(c, last.Err, 0)
	}
}

// fail ends the request with the error of a middleware.
func (e *Edge) fail(c *gin.Context, err error) { e.failWith(c, err, 0) }

// failWith is fail with a status of the protocol's own.
func (e *Edge) failWith(c *gin.Context, err error, status int) {
	c.Abort()
	e.end(c, err, status)
}

// end logs an error once, at the level of its row, and writes it. The detail stays in the log.
func (e *Edge) end(c *gin.Context, err error, status int) {
	f := classify(err)
	row := fault.RowOf(f.Code)
	level := row.Level
	if errors.Is(context.Cause(c.Request.Context()), context.Canceled) { // the client went away
		level = slog.LevelInfo
	}
	e.deps.Log.Log(c.Request.Context(), level, "request refused", "route", c.FullPath(), "code", f.Code, "error", err)
	if status == 0 {
		status = row.Status
	}
	e.writeStatus(c, f, status)
}

func (e *Edge) write(c *gin.Context, f *fault.Error) { e.writeStatus(c, f, fault.RowOf(f.Code).Status) }

func (e *Edge) writeStatus(c *gin.Context, f *fault.Error, status int) {
	if c.Writer.Written() { // a part of the answer is out; all that is left is to drop the connection
		panic(http.ErrAbortHandler)
	}
	if f.RetryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(retryAfter(f.RetryAfter)))
	}
	text := e.deps.Texts.Render("en", fault.RowOf(f.Code).Message, f.Args)
	if e.deps.Refuse != nil && c.GetBool(pageKey) {
		var who admin.Identity
		if known, ok := c.Get(identityKey); ok {
			who, _ = known.(admin.Identity)
		}
		e.deps.Refuse(c.Writer, c.Request, who, Refusal{Code: f.Code, Status: status, Message: text})
		return
	}
	writeJSON(c, status, problem{Error: f.Code, Message: text})
}

// classify gives an error of the store its place in the vocabulary; what is not classified is internal.
func classify(err error) *fault.Error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrCommitUnknown), errors.Is(err, store.ErrClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, errHandlerTimeout):
		return fault.New("store_unavailable", err)
	case errors.Is(err, store.ErrStale):
		return fault.New("event_refused", err)
	default:
		return fault.New("internal", err)
	}
}

// writeJSON writes a body that is a struct of ours.
func writeJSON(c *gin.Context, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil { // our own structs
		panic(err)
	}
	c.Data(status, "application/json; charset=utf-8", body)
}
