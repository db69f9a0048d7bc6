package webhooks

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"offrampbot/services/fault"
	"offrampbot/services/obs"
	"offrampbot/services/whatsapp"
)

const bodyKey = "raw_body"

// errHandlerTimeout is why a handler's context ends by itself.
var errHandlerTimeout = errors.New("handler deadline")

// requestID gives the request an id of ours; one from outside is not trusted.
func (e *Edge) requestID(c *gin.Context) {
	id := uuid.NewString()
	c.Header("X-Request-Id", id)
	c.Request = c.Request.WithContext(obs.With(c.Request.Context(), obs.RequestID, id))
	c.Next()
}

// recover turns a panic into a logged 500. The stack is logged, the request is not.
func (e *Edge) recover(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause) // the server's own way to drop a connection
		}
		e.deps.Metrics.Panic("http")
		e.deps.Log.ErrorContext(c.Request.Context(), "request panicked", "route", c.FullPath(),
			"cause", cause, "stack", string(debug.Stack()))
		e.write(c, fault.New("internal", nil))
		c.Abort()
	}()
	c.Next()
}

// accessLog writes one line per request: the pattern, never the path or the query, which may hold what people sent.
func (e *Edge) accessLog(c *gin.Context) {
	start := e.deps.Now()
	c.Next()
	level := slog.LevelInfo
	switch c.FullPath() {
	case "/healthz", "/readyz", "/metrics":
		level = slog.LevelDebug
	}
	e.deps.Log.Log(c.Request.Context(), level, "request served", "method", method(c), "route", c.FullPath(),
		"status", c.Writer.Status(), "ms", e.deps.Now().Sub(start).Milliseconds(), "bytes", max(c.Writer.Size(), 0))
}

// count records the request's duration.
func (e *Edge) count(c *gin.Context) {
	start := e.deps.Now()
	c.Next()
	e.deps.Metrics.Request(method(c), c.FullPath(), c.Writer.Status(), e.deps.Now().Sub(start))
}

// method bounds what a label or a log line says of the method: it is the client's text.
func method(c *gin.Context) string {
	switch m := c.Request.Method; m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return m
	default:
		return "OTHER"
	}
}

// deadline ends the handler's work when nobody can be waiting any more.
func (e *Edge) deadline(c *gin.Context) {
	ctx, cancel := context.WithTimeoutCause(c.Request.Context(), e.cfg.HandlerTimeout, errHandlerTimeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// body reads the whole body once, up to a limit, and keeps the bytes for signature and decoder (B73). A compressed body
// is refused: its size says nothing (B101).
func (e *Edge) body(limit int64) step {
	return step{"body_limit " + size(limit), func(c *gin.Context) {
		if enc := c.GetHeader("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
			e.fail(c, fault.New("encoding_unsupported", nil))
			return
		}
		if c.Request.ContentLength > limit {
			e.fail(c, fault.New("body_too_large", nil))
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
		if err != nil {
			e.fail(c, readError(err))
			return
		}
		c.Set(bodyKey, body)
		c.Next()
	}}
}

func readError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fault.New("body_too_large", err)
	}
	return fault.New("body_invalid", err)
}

// rawBody returns what body has read.
func rawBody(c *gin.Context) []byte {
	body, _ := c.MustGet(bodyKey).([]byte)
	return body
}

func size(n int64) string {
	if n >= 1<<20 {
		return "4 MiB"
	}
	return "64 KiB"
}

// metaSignature compares Meta's signature with the raw body; refusal is the status that the protocol wants.
func (e *Edge) metaSignature(refusal int) step {
	return step{"meta_signature", func(c *gin.Context) {
		if !signed(c, e.cfg.AppSecrets) {
			e.deps.Metrics.Delivery("whatsapp", "refused")
			e.failWith(c, fault.New("signature_invalid", nil), refusal)
			return
		}
		c.Next()
	}}
}

// depositSignature compares the verifier's signature with the raw body.
func (e *Edge) depositSignature() step {
	return step{"deposit_signature", func(c *gin.Context) {
		if !signedBy(c, depositSignatureHeader, e.cfg.DepositSecrets) {
			e.deps.Metrics.Delivery("deposit", "refused")
			e.fail(c, fault.New("signature_invalid", nil))
			return
		}
		c.Next()
	}}
}

func signed(c *gin.Context, secrets [][]byte) bool {
	return signedBy(c, whatsapp.SignatureHeader, secrets)
}

// signedBy accepts exactly one signature header: with two, a proxy and we could look at different ones.
func signedBy(c *gin.Context, header string, secrets [][]byte) bool {
	values := c.Request.Header.Values(header)
	return len(values) == 1 && whatsapp.VerifySignature(secrets, values[0], rawBody(c))
}

// retryAfter is the header's form of a pause, at least a second.
func retryAfter(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }
