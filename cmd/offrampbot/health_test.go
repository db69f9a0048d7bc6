package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/testkit"
)

// otherClock is a store whose clock differs.
type otherClock struct {
	database
	by *atomic.Int64
}

func (o otherClock) Now(ctx context.Context) (time.Time, error) {
	at, err := o.database.Now(ctx)
	return at.Add(time.Duration(o.by.Load())), err
}

// TestClock_aProcessWhoseClockIsOffDoesNothing sets a store's clock apart from the bot's: from ten seconds on the process
// takes nothing in and works on nothing, and once the clocks agree again it goes on.
func TestClock_aProcessWhoseClockIsOffDoesNothing(t *testing.T) {
	t.Parallel()
	var by atomic.Int64
	w := newTown(t, otherClock{testkit.Bolt(t, indexes()), &by}, "redis://"+miniredis.RunT(t).Addr(), nil)
	p := w.newPerson()
	p.signsUp()
	status := func(path string) int {
		code, _ := w.try(http.MethodGet, w.bot+path, nil, nil)
		return code
	}
	for _, off := range []time.Duration{11 * time.Second, -10 * time.Minute} {
		by.Store(int64(3 * time.Second))
		w.eventually("three seconds are tolerated", func() bool { return status("/readyz") == 200 })
		by.Store(int64(off))
		w.eventually("it is not ready", func() bool { return status("/readyz") == 503 })
		require.Equal(t, 200, status("/healthz"), "restarting it would not help")
		code, out := w.try(http.MethodPost, w.bot+"/webhooks/whatsapp", []byte("{}"), nil)
		require.Equal(t, 503, code)
		require.Equal(t, "clock_off", out["error"])
		before := len(p.chat())
		p.says("balance") // WhatsApp tries again until it is taken
		time.Sleep(time.Second)
		require.Len(t, p.chat(), before+1, "nothing but the question")
		by.Store(0)
		p.hears("Your balance")
	}
	w.holds()
}
