package inbox_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/inbox"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// BenchmarkRun is receipts of many users through one worker whose handler only finishes them.
func BenchmarkRun(b *testing.B) {
	for _, name := range []string{"bolt", "mongo"} {
		b.Run(name, func(b *testing.B) {
			var engine store.Engine
			if name == "bolt" {
				engine = testkit.Bolt(b, delivery.Indexes)
			} else {
				engine = testkit.OpenMongo(b, delivery.Indexes)
			}
			clock := testkit.Noon()
			for n := range b.N {
				r := delivery.New(fmt.Sprint("wa:", n), delivery.Message, "text", fmt.Sprint("user-", n%500), "print",
					fmt.Appendf(nil, "wa:%d|body", n), clock.Now(), clock.Now())
				_, err := engine.Append(b.Context(), store.Inbox, []store.Document{r})
				require.NoError(b, err)
			}
			var done atomic.Int64
			over := make(chan struct{})
			w, err := inbox.NewWorker(inbox.Deps{
				Engine: engine, Sealer: sealer{}, Metrics: &metrics{}, Now: clock.Now, Log: slog.New(slog.DiscardHandler),
				Handlers: map[delivery.Source]inbox.Handler{delivery.Message: inbox.HandlerFunc(
					func(ctx context.Context, r *delivery.Receipt, _ []byte) error {
						err := engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
							return delivery.Finish(tx, r, "done", clock.Now())
						})
						if done.Add(1) == int64(b.N) {
							close(over)
						}
						return err
					})},
			}, inbox.Config{Owner: "p", Concurrency: 8})
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			b.ResetTimer()
			go func() { ended <- w.Run(ctx) }()
			<-over
			b.StopTimer()
			cancel()
			require.NoError(b, <-ended)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "receipts/s")
		})
	}
}
