package webhooks

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"offrampbot/services/fault"
)

// live answers 200 as long as the loops turn. A stranger does not learn why they do not.
func (e *Edge) live(c *gin.Context) error {
	if err := e.deps.Health.Live(); err != nil {
		e.deps.Log.ErrorContext(c.Request.Context(), "process is not live", "error", err)
		writeJSON(c, http.StatusServiceUnavailable, gin.H{"status": "stuck"})
		return nil
	}
	writeJSON(c, http.StatusOK, gin.H{"status": "ok"})
	return nil
}

// ready answers 200 as long as traffic may come. A lost Redis is degraded, not unready (DESIGN §9).
func (e *Edge) ready(c *gin.Context) error {
	degraded, err := e.deps.Health.Ready(c.Request.Context())
	switch {
	case err != nil:
		e.deps.Log.WarnContext(c.Request.Context(), "process is not ready", "error", err)
		writeJSON(c, http.StatusServiceUnavailable, gin.H{"status": "not ready"})
	case degraded:
		writeJSON(c, http.StatusOK, gin.H{"status": "degraded"})
	default:
		writeJSON(c, http.StatusOK, gin.H{"status": "ready"})
	}
	return nil
}

// clockPause is when a sender may come again; the clock is compared every two seconds.
const clockPause = 10 * time.Second

// clock refuses what would be stored by a clock that is off. The sender comes again, and reaches another process. Fault
// code: clock_off.
func (e *Edge) clock() step {
	return step{"clock", func(c *gin.Context) {
		if e.deps.Health.ClockIsOff() {
			off := fault.New("clock_off", nil)
			off.RetryAfter = clockPause
			e.fail(c, off)
		}
	}}
}

// scrape serves the metrics.
func (e *Edge) scrape(c *gin.Context) error {
	e.deps.Scrape.ServeHTTP(c.Writer, c.Request)
	return nil
}
