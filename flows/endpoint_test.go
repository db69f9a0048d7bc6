package flows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

func TestNewEndpoint_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := NewEndpoint(Deps{})
	require.ErrorContains(t, err, "is missing")
	full := onBolt(t).endpoint.d
	for name, drop := range map[string]func(d *Deps){
		"Keys": func(d *Deps) { d.Keys = nil }, "Tokens": func(d *Deps) { d.Tokens = nil }, "Secrets": func(d *Deps) { d.Secrets = nil },
		"Engine": func(d *Deps) { d.Engine = nil }, "Sealer": func(d *Deps) { d.Sealer = nil }, "Flows": func(d *Deps) { d.Flows = nil },
		"Now": func(d *Deps) { d.Now = nil }, "Log": func(d *Deps) { d.Log = nil }, "PhoneID": func(d *Deps) { d.PhoneID = "" },
		"TokenGone": func(d *Deps) { d.TokenGone = nil },
	} {
		d := full
		drop(&d)
		_, err := NewEndpoint(d)
		require.EqualError(t, err, "flow endpoint: "+name+" is missing")
	}
}

func TestNewSell_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := NewSell(SellDeps{})
	require.ErrorContains(t, err, "is missing")
	d := onBolt(t).deps
	d.Guard = nil
	_, err = NewSell(d)
	require.EqualError(t, err, "sell form: Guard is missing")
	_, err = NewSignUp(nil, nil, nil, nil)
	require.ErrorContains(t, err, "required")
}

func TestEndpoint_answersWhatIsNoScreen(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	c := w.person().receives("offramp_flow", nil)
	for _, version := range []string{"3.0", "4.0"} {
		a := w.send(t, map[string]any{"version": version, "action": "ping"})
		require.Equal(t, 200, a.Status)
		require.JSONEq(t, `{"data":{"status":"active"}}`, a.Raw)
	}
	for _, notice := range []map[string]any{
		{"action": "data_exchange", "screen": Details, "data": map[string]any{"error_key": "payload-schema-error", "error_message": "x"}},
		{"action": "INIT", "data": map[string]any{"error": "timeout_error"}},
		{"action": "navigate", "data": map[string]any{"error": "x"}},
		{"action": "navigate", "screen": Details, "data": map[string]any{}},
	} {
		notice["flow_token"] = c.token
		a := w.send(t, notice)
		require.Equal(t, 200, a.Status)
		require.JSONEq(t, `{"data":{"acknowledged":true}}`, a.Raw)
	}
	require.Contains(t, w.log.String(), "payload-schema-error", "an operator sees the client's complaint")
	s, err := w.endpoint.load(t.Context(), c.token)
	require.NoError(t, err)
	require.Equal(t, int64(1), s.Revision, "a notice changes nothing")
}

func TestEndpoint_cannotDecrypt(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	stranger := newKey(t, 2048)
	foreignBody, _, err := sealRequest(&stranger.PublicKey, []byte(`{"version":"4.0","action":"ping"}`))
	require.NoError(t, err)
	for _, body := range [][]byte{nil, []byte("{}"), []byte("x"), foreignBody} {
		status, answer := w.endpoint.Answer(t.Context(), body)
		require.Equal(t, StatusDecrypt, status)
		require.Empty(t, answer)
	}
}

func TestEndpoint_tokenIsGone(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	change := func(c *client, f func(s *Session)) {
		w.update(func(tx store.Tx) error {
			s, err := LoadSession(tx, c.token)
			if err != nil {
				return err
			}
			f(s)
			return SaveSession(tx, s)
		})
	}
	tests := []struct {
		name string
		do   func(c *client)
	}{
		{"no token", func(c *client) { c.token = "" }},
		{"a guessed token", func(c *client) { c.token = strings.Repeat("A", 43) }},
		{"a token that is no text", func(c *client) { c.extra = map[string]any{"flow_token": map[string]any{"$gt": ""}} }},
		{"null", func(c *client) { c.extra = map[string]any{"flow_token": nil} }},
		{"expired", func(c *client) { change(c, func(s *Session) { s.ExpiresAt = w.clock.Now() }) }},
		{"closed", func(c *client) { change(c, func(s *Session) { s.Close() }) }},
		{"used", func(c *client) { change(c, func(s *Session) { s.State = SessionSubmitted }) }},
		{"of another number", func(c *client) { change(c, func(s *Session) { s.PhoneNumberID = "999" }) }},
		{"used and of another number", func(c *client) {
			change(c, func(s *Session) { s.PhoneNumberID, s.State, s.Intent = "999", SessionSubmitted, "i1" })
		}},
		{"used and expired", func(c *client) {
			change(c, func(s *Session) { s.State, s.Intent, s.ExpiresAt = SessionSubmitted, "i1", w.clock.Now() })
		}},
		{"of a form that is no more", func(c *client) { change(c, func(s *Session) { s.Flow = "gone" }) }},
		{"of nobody", func(c *client) { change(c, func(s *Session) { s.User = "u_nobody" }) }},
		{"signed by somebody else", func(c *client) {
			c.extra = map[string]any{"flow_token_signature": jwt("evil", `{"alg":"HS256"}`, `{"flow_token":"x"}`)}
		}},
		{"a request that is malformed", func(c *client) { c.extra = map[string]any{"Action": "INIT"} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { //nolint:paralleltest // they share a world, and a clock that stands
			for _, screen := range []string{"", Details, CryptoReview} {
				c := p.receives("offramp_flow", nil)
				tt.do(c)
				action := ActionExchange
				if screen == "" {
					action = ActionInit
				}
				a := c.post(action, screen, pin(rightPIN))
				require.Equal(t, StatusTokenGone, a.Status)
				require.JSONEq(t, `{"error_msg":"This form is over."}`, a.Raw, "the reason is nobody's business")
			}
		})
	}
	require.Empty(t, p.placed())
	require.Zero(t, p.tries())
	w.wantsQuiet()
}

func TestEndpoint_acceptsTheTokensSignature(t *testing.T) {
	t.Parallel()
	c := onBolt(t).person().receives("offramp_flow", nil)
	c.extra = map[string]any{"flow_token_signature": jwt("app secret", `{"alg":"HS256"}`, `{"flow_token":"`+c.token+`"}`)}
	require.Equal(t, 200, c.init().Status)
}

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

func TestLogs_neverHoldWhatWasTyped(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.atPIN("25")
	// A hasher, a bank and a client that say what they should not.
	w.hasher.meanwhile(nil, fmt.Errorf("compare %s: %w", rightPIN, errBroken))
	require.Equal(t, 200, c.submit(pin(rightPIN)).Status)
	w.hasher.meanwhile(nil, nil)
	w.banks.change(func(b *banks) { b.nameErr = errors.New("GET /bank/resolve?account_number=" + account) })
	d := p.opens("offramp_flow", nil)
	require.Equal(t, Details, d.submit(toNew("25", account[:4]+" "+account[4:])).Screen)
	for _, notice := range []map[string]any{
		{"error": "x", "error_message": "pin " + rightPIN + " token " + c.token + " account " + account},
		{"error_key": rightPIN, "error_message": "\x1b[31m" + c.token},
	} {
		w.send(t, map[string]any{"version": "4.0", "action": ActionExchange, "screen": rightPIN, "flow_token": c.token, "data": notice})
	}
	w.send(t, map[string]any{"version": "4.0", "action": ActionExchange, "screen": "S" + rightPIN, "flow_token": c.token, "data": pin(rightPIN)})
	w.wantsQuiet(c.token, d.token, p.tokens.Token("session 1"))
	require.Contains(t, w.log.String(), "sell form failed")
	require.False(t, bytes.ContainsAny([]byte(w.log.String()), "\x1b"))
}

func TestRequest_scrubTable(t *testing.T) {
	t.Parallel()
	r := Request{Token: "the-token", Data: map[string]json.RawMessage{
		"pin": json.RawMessage(`"482913"`), "account_number": json.RawMessage(`"0123 456 789"`), "short": json.RawMessage(`"a"`),
		"blank": json.RawMessage(`"    "`), "list": json.RawMessage(`["x"]`),
	}}
	for in, want := range map[string]string{
		"open 482913 and 0123456789": "open *** and ***", "as typed 0123 456 789": "as typed ***", "a the-token": "a ***", "plain": "plain", "": "",
	} {
		require.Equal(t, want, r.Scrub(in))
	}
}

func TestClean_table(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"payload-schema-error": "payload-schema-error", "OFFRAMP_DETAILS": "OFFRAMP_DETAILS", "pin 482913 x9": "pin # #",
		strings.Repeat("a", 33): "#", "a\nb\x1b[31m": "a b #", "": "",
	} {
		require.Equal(t, want, clean(in), in)
	}
	require.LessOrEqual(t, length(clean(strings.Repeat("word ", 4000))), maxLogged)
}
