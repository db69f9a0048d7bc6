package flows

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

func TestEndpoint_timeIsOver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	f := &script{acts: true, submit: func(ctx context.Context, s *Session, n int64) (Answer, error) {
		if n == 1 {
			cancel(errBroken)
			<-ctx.Done()
			return Answer{}, context.Cause(ctx)
		}
		return numbered(ctx, s, n)
	}}
	_, c := scripted(t, testkit.Bolt(t, allIndexes()), f)
	require.Equal(t, 500, c.within(ctx, map[string]any{"x": "1"}).Status)
	require.Equal(t, 200, c.ask(map[string]any{"x": "1"}).Status, "the client's retry is handled at once")
}

func TestEndpoint_sessionTakenOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		second map[string]any
		want   int
	}{
		{"by a copy, whose answer it gives", map[string]any{"x": "1"}, 200},
		{"by another request", map[string]any{"x": "2"}, 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			testkit.Engines(t, allIndexes(), func(t *testing.T, engine store.Engine) {
				started, release := make(chan struct{}), make(chan struct{})
				f := &script{acts: true}
				f.submit = func(ctx context.Context, s *Session, n int64) (Answer, error) {
					if n == 1 {
						close(started)
						<-release
					}
					return numbered(ctx, s, n)
				}
				w, c := scripted(t, engine, f)
				first := make(chan shown, 1)
				go func() { first <- c.ask(map[string]any{"x": "1"}) }()
				<-started
				w.clock.Advance(workTime)
				second := c.ask(tt.second)
				require.Equal(t, 200, second.Status, "after its time the session is free for others")
				close(release)
				late := <-first
				require.Equal(t, tt.want, late.Status)
				if tt.want == 200 {
					require.Equal(t, second.Raw, late.Raw)
				}
				require.Equal(t, second.Raw, c.ask(tt.second).Raw, "what was answered stays")
			})
		})
	}
}

func TestEndpoint_failureFreesTheSessionAndKeepsNothing(t *testing.T) {
	t.Parallel()
	f := &script{acts: true}
	f.submit = func(ctx context.Context, s *Session, n int64) (Answer, error) {
		if n == 1 {
			s.Values = map[string]string{"half": "done"}
			return Answer{}, errBroken
		}
		return numbered(ctx, s, n)
	}
	w, c := scripted(t, testkit.Bolt(t, allIndexes()), f)
	require.Equal(t, 500, c.ask(map[string]any{"x": "1"}).Status)
	s, err := w.endpoint.load(t.Context(), c.token)
	require.NoError(t, err)
	require.Empty(t, s.Working)
	require.Empty(t, s.Values)
	require.Equal(t, 200, c.ask(map[string]any{"x": "1"}).Status)
}

func TestEndpoint_passingProblemsAreNotRepeated(t *testing.T) {
	t.Parallel()
	f := &script{acts: true, submit: func(_ context.Context, _ *Session, n int64) (Answer, error) {
		return Answer{Screen: "NEXT", Data: map[string]any{"n": n}, passing: true}, nil
	}}
	_, c := scripted(t, testkit.Bolt(t, allIndexes()), f)
	require.NotEqual(t, c.ask(map[string]any{"x": "1"}).Raw, c.ask(map[string]any{"x": "1"}).Raw)
}

func TestEndpoint_commitThatMayHaveHappenedIsFoundOut(t *testing.T) {
	t.Parallel()
	for _, acts := range []bool{false, true} {
		for lost := range 2 {
			t.Run(fmt.Sprintf("acts %v, commit %d", acts, lost), func(t *testing.T) {
				t.Parallel()
				f := &script{acts: acts, submit: numbered}
				unsure := &unsureEngine{Engine: testkit.Bolt(t, allIndexes())}
				_, c := scripted(t, unsure, f)
				unsure.after.Store(int64(lost + 1))
				first := c.ask(map[string]any{"x": "1"})
				require.Equal(t, 200, first.Status)
				require.Equal(t, first.Raw, c.ask(map[string]any{"x": "1"}).Raw)
				require.Equal(t, int64(1), f.did.Load())
			})
		}
	}
}

// unsureEngine commits and says of one commit that it does not know.
type unsureEngine struct {
	store.Engine
	after atomic.Int64 // 1: the next commit
}

func (e *unsureEngine) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	err := e.Engine.Update(ctx, fn)
	if err == nil && e.after.Add(-1) == 0 {
		return store.ErrCommitUnknown
	}
	return err
}

func TestEndpoint_everyTransactionMayRunTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.Twice(testkit.Bolt(t, allIndexes())))
	p := w.person()
	c := p.opens("offramp_flow", nil)
	c.submit(toNew("25", account))
	c.submit(nil)
	require.Equal(t, CryptoReview, c.submit(pin(wrongPIN)).Screen)
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
	require.Equal(t, Refused, c.post(ActionExchange, CryptoReview, pin(rightPIN)).Screen)
	require.Len(t, p.placed(), 1)
	w.wantsQuiet(c.token)
}

// downEngine is a store that cannot be reached.
type downEngine struct {
	store.Engine
	down atomic.Bool
}

func (e *downEngine) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	if e.down.Load() {
		return store.ErrUnavailable
	}
	return e.Engine.Update(ctx, fn)
}

func (e *downEngine) View(ctx context.Context, fn func(ctx context.Context, r store.Reader) error) error {
	if e.down.Load() {
		return store.ErrUnavailable
	}
	return e.Engine.View(ctx, fn)
}

func TestEndpoint_storeIsDown(t *testing.T) {
	t.Parallel()
	engine := &downEngine{Engine: testkit.Bolt(t, allIndexes())}
	w := newWorld(t, engine)
	p := w.person()
	c := p.atPIN("25")
	engine.down.Store(true)
	require.Equal(t, 500, c.post(ActionExchange, CryptoReview, pin(rightPIN)).Status)
	require.Equal(t, 500, c.post(ActionInit, "", nil).Status)
	engine.down.Store(false)
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
	w.wantsQuiet(c.token)
}
