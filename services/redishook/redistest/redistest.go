// Package redistest gives tests of the Redis adapters their servers: a real one, an embedded one, one that is stopped
// and one that accepts and never answers. Only tests import it.
package redistest

import (
	"crypto/rand"
	"net"
	"os"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"offrampbot/services/redishook"
)

// defaultURL is where scripts/services starts Redis.
const defaultURL = "redis://127.0.0.1:6479"

// Main runs the tests of a package and fails when they leave goroutines behind, but for the library's own look whether
// a stopped server is back, which ends up to a second after its client was closed.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
		"github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// Server is a Redis for one test. Prefix is random, so that tests run in parallel and twice in a row.
type Server struct {
	Name   string
	Client *redis.Client
	Prefix string
	// AdvanceFunc moves the server's time; nil on a real server.
	AdvanceFunc func(time.Duration)
}

// Each runs a test on a real server and on an embedded one.
func Each(t *testing.T, test func(t *testing.T, s Server)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, Real(t))
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, Mini(t))
	})
}

// Real returns the server of REDIS_URL or of scripts/services. Without one the test is skipped, but fails under CI=true.
func Real(t *testing.T) Server {
	t.Helper()
	url := os.Getenv("REDIS_URL")
	if url == "" {
		url = defaultURL
	}
	client := Client(t, url, time.Second)
	if err := client.Ping(t.Context()).Err(); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "no Redis at REDIS_URL")
		}
		t.Skip("no Redis: start it with scripts/services or set REDIS_URL")
	}
	return Server{Name: "redis", Client: client, Prefix: prefix()}
}

// Mini returns an embedded server, whose time stands still until it is advanced.
func Mini(t *testing.T) Server {
	t.Helper()
	m := miniredis.RunT(t)
	return Server{
		Name: "miniredis", Client: Client(t, "redis://"+m.Addr(), time.Second), Prefix: prefix(), AdvanceFunc: m.FastForward,
	}
}

// Stopped returns a client of a server that is not there.
func Stopped(t *testing.T) *redis.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	return Client(t, "redis://"+addr, 50*time.Millisecond)
}

// Hanging returns a client of a server that accepts and never answers.
func Hanging(t *testing.T) *redis.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				for _, c := range open {
					_ = c.Close()
				}
				return
			}
			open = append(open, c)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return Client(t, "redis://"+l.Addr().String(), 50*time.Millisecond)
}

// Client returns a client as production makes it, with its own time-out.
func Client(t *testing.T, url string, timeout time.Duration) *redis.Client {
	t.Helper()
	client, err := redishook.New(url, redishook.Config{Timeout: timeout, PoolSize: 32})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func prefix() string { return "test:" + rand.Text() + ":" }
