package redishook

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo sends the library's own messages (connections that broke, servers that do not answer) to log at debug level:
// the callers already report what they make of it. The library has one logger for the whole process, so only cmd calls
// this, once, before the first client.
func LogTo(log *slog.Logger) { redis.SetLogger(libraryLog{log}) }

type libraryLog struct{ log *slog.Logger }

// Printf implements the library's logger.
func (l libraryLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis client reported", "detail", fmt.Sprintf(format, v...))
}
