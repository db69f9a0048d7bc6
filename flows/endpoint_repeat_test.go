package flows

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestRequest_sameRequestHasTheSameDigest(t *testing.T) {
	t.Parallel()
	tokens, err := NewTokens(testKey)
	require.NoError(t, err)
	digest := func(plain string) string {
		r, err := DecodeRequest([]byte(plain))
		require.NoError(t, err)
		return tokens.RequestDigest(r.Canonical())
	}
	base := digest(`{"version":"4.0","action":"data_exchange","screen":"A","flow_token":"t","data":{"a":"1","b":"2"}}`)
	for _, same := range []string{
		`{"action":"data_exchange","version":"4.0","flow_token":"t","data":{"b":"2","a":"1"},"screen":"A"}`,
		`{"version":"4.0","action":"data_exchange","screen":"A","flow_token":"t","flow_token_signature":"a.b.c","data":{"a":"1","b":"2"}}`,
		`{"version":"4.0","action":"data_exchange","screen":"A","flow_token":"t","future":1,"data":{"a":"1","b":"2"}}`,
	} {
		require.Equal(t, base, digest(same), same)
	}
	for _, other := range []string{
		`{"version":"4.0","action":"data_exchange","screen":"A","flow_token":"t","data":{"a":"1","b":"3"}}`,
		`{"version":"4.0","action":"data_exchange","screen":"A","flow_token":"t","data":{"a":"1","b":2}}`,
		`{"version":"4.0","action":"data_exchange","screen":"A","flow_token":"t","data":{"a":"12"}}`,
		`{"version":"4.0","action":"data_exchange","screen":"B","flow_token":"t","data":{"a":"1","b":"2"}}`,
		`{"version":"4.0","action":"data_exchange","screen":"A","flow_token":"u","data":{"a":"1","b":"2"}}`,
		`{"version":"4.0","action":"BACK","screen":"A","flow_token":"t","data":{"a":"1","b":"2"}}`,
		`{"version":"3.0","action":"data_exchange","screen":"A","flow_token":"t","data":{"a":"1","b":"2"}}`,
	} {
		require.NotEqual(t, base, digest(other), other)
	}
}

// script is a Flow whose screens do what a test wants; it counts what was done.
type script struct {
	acts   bool
	did    atomic.Int64
	submit func(ctx context.Context, s *Session, n int64) (Answer, error)
	repeat func() (Answer, bool, error)
}

func (f *script) Acts(Request) bool { return f.acts }

func (f *script) Init(context.Context, *Session) (Answer, error) {
	return Answer{Screen: "FIRST", Data: map[string]any{}, entry: true}, nil
}

func (f *script) Back(ctx context.Context, s *Session, _ Request) (Answer, error) {
	return f.Init(ctx, s)
}

func (f *script) Submit(ctx context.Context, s *Session, _ Request) (Answer, error) {
	return f.submit(ctx, s, f.did.Add(1))
}

func (f *script) Repeat(context.Context, *Session, Request) (Answer, bool, error) {
	if f.repeat == nil {
		return Answer{}, false, nil
	}
	return f.repeat()
}

// scripted is a world whose one Flow is a script, and a session in it.
func scripted(t *testing.T, engine store.Engine, f *script) (*world, *client) {
	t.Helper()
	w := newWorld(t, engine)
	w.endpoint = w.newEndpoint(map[string]Screens{"script": f}, slog.New(slog.NewJSONHandler(w.log, nil)))
	return w, w.person().receives("script", nil)
}

// ask sends a request without the checks of a document.
func (c *client) ask(data map[string]any) shown {
	return c.send(c.t, map[string]any{"version": "4.0", "action": ActionExchange, "screen": "FIRST", "flow_token": c.token, "data": data})
}

func numbered(_ context.Context, _ *Session, n int64) (Answer, error) {
	return Answer{Screen: "NEXT", Data: map[string]any{"n": n}}, nil
}

func TestEndpoint_sameRequestTwiceIsOneEffectAndOneAnswer(t *testing.T) {
	t.Parallel()
	for _, acts := range []bool{false, true} {
		t.Run(fmt.Sprintf("acts %v", acts), func(t *testing.T) {
			t.Parallel()
			testkit.Engines(t, allIndexes(), func(t *testing.T, engine store.Engine) {
				f := &script{acts: acts, submit: numbered}
				w, c := scripted(t, engine, f)
				first := c.ask(map[string]any{"x": "1"})
				require.Equal(t, 200, first.Status)
				require.Equal(t, first.Raw, c.ask(map[string]any{"x": "1"}).Raw)
				require.Equal(t, int64(1), f.did.Load())
				require.NotEqual(t, first.Raw, c.ask(map[string]any{"x": "2"}).Raw)
				w.clock.Advance(repeatWindow)
				require.NotEqual(t, first.Raw, c.ask(map[string]any{"x": "1"}).Raw, "a person who tries again gets a fresh answer")
				require.Equal(t, int64(3), f.did.Load())
			})
		})
	}
}

func TestEndpoint_submittedIsRepeatedUntilItExpires(t *testing.T) {
	t.Parallel()
	f := &script{acts: true, submit: func(_ context.Context, _ *Session, n int64) (Answer, error) {
		return Answer{Screen: "LAST", Data: map[string]any{"n": n}, Submitted: true}, nil
	}}
	w, c := scripted(t, testkit.Bolt(t, allIndexes()), f)
	first := c.ask(map[string]any{"x": "1"})
	require.Equal(t, StatusTokenGone, c.ask(map[string]any{"x": "2"}).Status)
	w.clock.Advance(29 * time.Minute)
	require.Equal(t, first.Raw, c.ask(map[string]any{"x": "1"}).Raw)
	w.clock.Advance(time.Minute)
	require.Equal(t, StatusTokenGone, c.ask(map[string]any{"x": "1"}).Status)
	require.Equal(t, int64(1), f.did.Load())
}

func TestEndpoint_concurrentCopiesAreOneEffectAndOneAnswer(t *testing.T) {
	t.Parallel()
	for _, acts := range []bool{false, true} {
		t.Run(fmt.Sprintf("acts %v", acts), func(t *testing.T) {
			t.Parallel()
			testkit.Engines(t, allIndexes(), func(t *testing.T, engine store.Engine) {
				f := &script{acts: acts, submit: numbered}
				_, c := scripted(t, engine, f)
				answers := concurrently(t, 20, func(t *testing.T) shown {
					t.Helper()
					return c.send(t, map[string]any{
						"version": "4.0", "action": ActionExchange, "screen": "FIRST", "flow_token": c.token, "data": map[string]any{"x": "1"},
					})
				})
				for _, a := range answers {
					require.Equal(t, 200, a.Status)
					require.Equal(t, answers[0].Raw, a.Raw)
				}
				if acts {
					require.Equal(t, int64(1), f.did.Load())
				}
			})
		})
	}
}

// concurrently does one thing many times at once.
func concurrently(t *testing.T, n int, do func(t *testing.T) shown) []shown {
	t.Helper()
	out := make([]shown, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			out[i] = do(t)
		})
	}
	close(start)
	done.Wait()
	return out
}

func TestEndpoint_whatChangesNothingIsNotStored(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.atOffer("25")
	revision := func() int64 {
		s, err := w.endpoint.load(t.Context(), c.token)
		require.NoError(t, err)
		return s.Revision
	}
	c.submit(nil) // the PIN screen, for the first time
	before := revision()
	require.Equal(t, FiatReview, c.back().Screen)
	require.Equal(t, CryptoReview, c.submit(nil).Screen)
	require.Equal(t, FiatReview, c.back().Screen)
	require.Equal(t, Details, c.back().Screen)
	require.Equal(t, Details, c.init().Screen)
	require.Equal(t, before, revision())
}

func TestEndpoint_otherRequestsWaitForTheOneThatWorks(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	f := &script{acts: true}
	f.submit = func(ctx context.Context, s *Session, n int64) (Answer, error) {
		if n == 1 {
			close(started)
			<-release
		}
		return numbered(ctx, s, n)
	}
	w, c := scripted(t, testkit.Bolt(t, allIndexes()), f)
	first := make(chan shown, 1)
	go func() { first <- c.ask(map[string]any{"x": "1"}) }()
	<-started
	require.Equal(t, "FIRST", w.send(t, map[string]any{"version": "4.0", "action": ActionInit, "flow_token": c.token}).Screen,
		"to look at the first screen needs no turn")
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
	defer cancel()
	require.Equal(t, 500, c.within(ctx, map[string]any{"x": "2"}).Status, "another one waits, and gives up in time")
	require.Equal(t, int64(1), f.did.Load())
	close(release)
	require.Equal(t, 200, (<-first).Status)
	require.Equal(t, 200, c.ask(map[string]any{"x": "2"}).Status)
}

// within is ask under a deadline.
func (c *client) within(ctx context.Context, data map[string]any) shown {
	c.t.Helper()
	plain, err := json.Marshal(map[string]any{"version": "4.0", "action": ActionExchange, "screen": "FIRST", "flow_token": c.token, "data": data})
	require.NoError(c.t, err)
	key, _ := flowKey()
	body, _, err := sealRequest(&key.PublicKey, plain)
	require.NoError(c.t, err)
	status, _ := c.endpoint.Answer(ctx, body)
	return shown{Status: status}
}
