package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
)

// worldError is a refusal of the world API: {error, message} with a 4xx status.
type worldError struct {
	status  int
	code    string
	message string
}

// Error implements error.
func (e *worldError) Error() string { return e.code + ": " + e.message }

func notFound(code, format string, args ...any) error {
	return &worldError{status: http.StatusNotFound, code: code, message: fmt.Sprintf(format, args...)}
}

func conflict(code, format string, args ...any) error {
	return &worldError{status: http.StatusConflict, code: code, message: fmt.Sprintf(format, args...)}
}

func invalid(code, format string, args ...any) error {
	return &worldError{status: http.StatusUnprocessableEntity, code: code, message: fmt.Sprintf(format, args...)}
}

// list is the form of every list of the world API. next is "" when there is no more.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

func listOf[T any](items []T) list[T] {
	if items == nil {
		items = []T{}
	}
	return list[T]{Items: items}
}

var (
	// errAnswered: the handler has written its answer itself.
	errAnswered = errors.New("answered already")
	// errNothingNew ends a long poll.
	errNothingNew = errors.New("nothing new")
)

// maxWorldBody bounds a request to the world API.
const maxWorldBody = 1 << 20

// lever turns a function from a request to an answer into a handler. Unknown fields are refused: a lever with a typing
// error would silently do nothing.
func lever[Request any](w *World, fn func(c *gin.Context, in Request) (any, error)) gin.HandlerFunc {
	return func(c *gin.Context) {
		var in Request
		dec := json.NewDecoder(http.MaxBytesReader(c.Writer, c.Request.Body, maxWorldBody))
		dec.DisallowUnknownFields()
		dec.UseNumber()
		if err := dec.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
			c.JSON(http.StatusBadRequest, gin.H{"error": "body_invalid", "message": "the body cannot be read: " + err.Error()})
			return
		}
		answer, err := fn(c, in)
		w.respond(c, answer, err)
	}
}

// respond writes an answer or a refusal; anything that is no refusal is an error of the world itself.
func (w *World) respond(c *gin.Context, answer any, err error) {
	var refused *worldError
	switch {
	case err == nil:
		c.JSON(http.StatusOK, answer)
	case errors.Is(err, errAnswered):
	case errors.As(err, &refused):
		c.JSON(refused.status, gin.H{"error": refused.code, "message": refused.message})
	default:
		w.cfg.Log.ErrorContext(c.Request.Context(), "world request failed", "path", c.FullPath(), "error", err)
		c.JSON(http.StatusInternalServerError, gin.H{"error": "internal", "message": err.Error()})
	}
}

// maxCopies bounds how many copies of one thing are delivered at the same time.
const maxCopies = 500

func copiesOf(n int) (int, error) {
	if n == 0 {
		return 1, nil
	}
	if n < 0 || n > maxCopies {
		return 0, invalid("copies_invalid", "copies must be 1 to %d", maxCopies)
	}
	return n, nil
}
