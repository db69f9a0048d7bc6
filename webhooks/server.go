package webhooks

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer returns the server of one listener, with the time-outs that keep slow and idle connections from piling up
// (D2s). The caller listens, serves and shuts it down.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      90 * time.Second, // a CSV export of a long list
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
