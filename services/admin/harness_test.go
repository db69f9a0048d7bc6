package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

const (
	password = "correct horse battery"
	canary   = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP" // the one-time secret of every test account
)

var errTampered = errors.New("tampered")

// fakeSealer turns bytes round and binds them to their associated data.
type fakeSealer struct{}

func (fakeSealer) Seal(plain []byte, associated string) ([]byte, error) {
	out := append([]byte(associated+"|"), plain...)
	slices.Reverse(out)
	return out, nil
}

func (fakeSealer) Open(sealed []byte, associated string) ([]byte, error) {
	out := slices.Clone(sealed)
	slices.Reverse(out)
	rest, ok := strings.CutPrefix(string(out), associated+"|")
	if !ok {
		return nil, errTampered
	}
	return []byte(rest), nil
}

type harness struct {
	*testing.T
	*Service
	engine store.Engine
	clock  *testkit.Clock
}

func newHarness(t *testing.T, engine store.Engine, cfg Config) *harness {
	t.Helper()
	clock := testkit.Noon()
	if cfg.Keys == nil {
		cfg.Keys = []Key{{ID: "k1", Secret: []byte(strings.Repeat("s", 32))}}
	}
	s, err := New(Deps{Engine: engine, Sealer: fakeSealer{}, Now: clock.Now, Rand: rand.Reader}, cfg)
	require.NoError(t, err)
	return &harness{T: t, Service: s, engine: engine, clock: clock}
}

// indexes are what the service and the trail need.
func indexes() []store.Index { return append(slices.Clone(Indexes), audit.Indexes...) }

func onBolt(t *testing.T) *harness {
	t.Helper()
	return newHarness(t, testkit.Bolt(t, indexes()), Config{})
}

// staff creates an account and returns its identity.
func (h *harness) staff(email string, role Role) Identity {
	h.Helper()
	made, err := h.Create(h.Context(), NewAdmin{Email: email, Role: role, Password: password, TOTP: canary, By: "host"})
	require.NoError(h, err)
	return Identity{ID: made.ID, Role: role}
}

// code is the one-time code of now.
func (h *harness) code() string {
	h.Helper()
	code, err := totp.GenerateCode(canary, h.clock.Now())
	require.NoError(h, err)
	return code
}

// nextCode moves the clock to the next period and returns its code.
func (h *harness) nextCode() string {
	h.clock.Advance(totpPeriod * time.Second)
	return h.code()
}

func (h *harness) update(fn func(tx store.Tx) error) error {
	return h.engine.Update(h.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) })
}

func (h *harness) account(id string) Admin {
	h.Helper()
	var a Admin
	require.NoError(h, h.engine.View(h.Context(), func(_ context.Context, r store.Reader) error {
		return r.Get(store.Admins, id, &a)
	}))
	return a
}

// trailOf lists what a stream says, and checks its chain.
func (h *harness) trailOf(stream string) []string {
	h.Helper()
	var out []string
	require.NoError(h, h.engine.View(h.Context(), func(_ context.Context, r store.Reader) error {
		broken, err := audit.Verify(r, stream)
		require.NoError(h, err)
		require.Empty(h, broken)
		rows, err := store.All[audit.Entry](r, store.Query{Collection: store.Audit, Index: "stream", Equal: []any{stream}})
		for _, e := range rows {
			out = append(out, strings.TrimSpace(e.Action+" "+e.Why))
			require.NotContains(h, fmt.Sprint(e), password)
			require.NotContains(h, fmt.Sprint(e), canary)
		}
		return err
	}))
	return out
}

func (h *harness) wantFault(code string, err error) {
	h.Helper()
	require.Error(h, err)
	require.True(h, fault.Is(err, code), "want %s, got %v", code, err)
}
