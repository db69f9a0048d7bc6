package sandbox

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

// reply is an answer of a simulated provider.
type reply struct {
	status     int
	retryAfter int // seconds, 0 for no header
	body       any
}

// voice is how one provider says the things that go wrong.
type voice struct {
	broken  reply                     // an internal error
	limited reply                     // too many requests
	refuse  func(code string) reply   // its own error with a code
	lie     func(r reply, p plan) any // the body of r with another amount, reference or status
}

// answer carries out a call under a plan: when the effect happens, and what the caller sees of it.
func (w *World) answer(c *gin.Context, p plan, v voice, effect func() reply) {
	w.pause(p.slow)
	switch p.kind {
	case faultLostReply:
		effect()
		hangUp(c, false)
	case faultNoEffect:
		w.pauseUnless(c.Request.Context().Done(), p.wait)
		hangUp(c, false)
	case faultReset:
		hangUp(c, true)
	case faultHTTP500:
		write(c, v.broken)
	case faultHTTP500After:
		effect()
		write(c, v.broken)
	case faultHTML:
		c.Data(http.StatusBadGateway, "text/html; charset=utf-8", []byte(gatewayPage))
	case faultEmpty:
		effect()
		c.Data(http.StatusOK, "application/json; charset=utf-8", nil)
	case faultRateLimited:
		write(c, v.limited)
	case faultError:
		write(c, v.refuse(p.arg))
	case faultWrongAmount, faultWrongRef, faultStatus:
		r := effect()
		if v.lie != nil {
			r.body = v.lie(r, p)
		}
		write(c, r)
	default:
		write(c, effect())
	}
}

const gatewayPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n" +
	"<hr><center>cloud</center>\r\n</body>\r\n</html>\r\n"

func write(c *gin.Context, r reply) {
	if r.retryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(r.retryAfter))
	}
	body, err := json.Marshal(r.body)
	if err != nil {
		c.Data(http.StatusInternalServerError, "application/json; charset=utf-8", nil)
		return
	}
	c.Data(r.status, "application/json; charset=utf-8", body)
}

// hangUp ends the connection without an answer: closed, or reset so that the caller's socket reports an error at once.
func hangUp(c *gin.Context, reset bool) {
	c.Abort()
	conn, _, err := http.NewResponseController(c.Writer).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2 or a recorder: the server's own way to drop an answer
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// pause waits a time that the caller cannot shorten by leaving; only the end of the world does.
func (w *World) pause(d time.Duration) { w.pauseUnless(nil, d) }

// pauseUnless waits a time, or until gone closes: the caller has given up.
func (w *World) pauseUnless(gone <-chan struct{}, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-gone:
	case <-w.closing:
	}
}
