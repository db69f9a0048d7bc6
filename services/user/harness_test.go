package user_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/phone"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

var lookupKey = []byte(strings.Repeat("k", 32))

// indexes are those that the tests need.
func indexes() []store.Index {
	return append(append([]store.Index{}, user.Indexes...), audit.Indexes...)
}

// plainHasher hashes by not hashing, so that tests are fast; it counts comparisons.
type plainHasher struct {
	compared atomic.Int64
	hashed   atomic.Int64
	pepper   string
	broken   error
	hold     chan struct{} // when set, every comparison waits for a value
}

func (h *plainHasher) Hash(pin user.TypedPIN) (string, string, error) {
	h.hashed.Add(1)
	return "plain:" + h.pepper + ":" + string(pin), h.pepper, h.broken
}

func (h *plainHasher) Verify(encoded, pepper string, pin user.TypedPIN) (bool, bool, error) {
	h.compared.Add(1)
	if h.hold != nil {
		<-h.hold
	}
	return encoded == "plain:"+pepper+":"+string(pin), pepper != h.pepper, h.broken
}

// book derives addresses by counting.
type book struct{ broken error }

func (b book) Address(index int64) (string, error) { return fmt.Sprintf("0x%040x", index+1), b.broken }

// guards counts how often the guard documents of a user were touched; it writes one, as the real one does.
type guards struct{}

type guardDocument struct {
	store.Meta `bson:",inline"`
}

func (guards) TouchUser(tx store.Tx, userID string) error {
	d := guardDocument{}
	err := tx.Get(store.Limits, userID, &d)
	if errors.Is(err, store.ErrNotFound) {
		d.ID = userID
		return tx.Insert(store.Limits, &d)
	}
	if err != nil {
		return err
	}
	return tx.Replace(store.Limits, &d)
}

type harness struct {
	t      testing.TB
	engine store.Engine
	hasher *plainHasher
	clock  *testkit.Clock
	users  *user.Service
}

func newHarness(t testing.TB, engine store.Engine) *harness {
	t.Helper()
	h := &harness{t: t, engine: engine, hasher: &plainHasher{pepper: "p1"}, clock: testkit.Noon()}
	h.users = h.service(user.Config{})
	return h
}

// service makes one more process over the same store.
func (h *harness) service(cfg user.Config) *user.Service {
	h.t.Helper()
	cfg.LookupKey, cfg.Tier = lookupKey, "tier0"
	s, err := user.NewService(user.Deps{
		Engine: h.engine, Hasher: h.hasher, Addresses: book{}, Guards: guards{}, Now: h.clock.Now, CountryOf: phone.Country,
	}, cfg)
	require.NoError(h.t, err)
	return s
}

// update runs fn until it is not told that a document has moved on.
func (h *harness) update(fn func(tx store.Tx) error) error {
	return again(func() error {
		return h.engine.Update(h.t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) })
	})
}

// again calls until no racer was quicker, at most a thousand times.
func again(call func() error) (err error) {
	for range 1000 {
		if err = call(); !errors.Is(err, store.ErrStale) && !store.IsDuplicate(err) {
			return err
		}
	}
	return err
}

func (h *harness) arrive(whatsAppID, scopedID, name string) *user.User {
	h.t.Helper()
	var u *user.User
	require.NoError(h.t, h.update(func(tx store.Tx) (err error) {
		u, err = h.users.Arrive(tx, whatsAppID, scopedID, name, h.clock.Now())
		return err
	}))
	return u
}

func (h *harness) moved(m user.Move) *user.User {
	h.t.Helper()
	var u *user.User
	require.NoError(h.t, h.update(func(tx store.Tx) (err error) {
		u, err = h.users.Moved(tx, m)
		return err
	}))
	return u
}

// signedUp is an active user of a number with PIN 274916.
func (h *harness) signedUp(whatsAppID, scopedID string) *user.User {
	h.t.Helper()
	u, err := h.users.SignUp(h.t.Context(), h.arrive(whatsAppID, scopedID, "").ID, "Ada Obi", rightPIN)
	require.NoError(h.t, err)
	return u
}

const rightPIN, wrongPIN = user.TypedPIN("274916"), user.TypedPIN("274917")

func (h *harness) load(userID string) *user.User {
	h.t.Helper()
	var u *user.User
	require.NoError(h.t, h.engine.View(h.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		u, err = user.Load(r, userID)
		return err
	}))
	return u
}

func (h *harness) check(userID string, pin user.TypedPIN) error {
	return h.users.CheckPIN(h.t.Context(), userID, pin, "flow")
}

// actions are what the user's audit stream says happened, and the chain is whole.
func (h *harness) actions(userID string) []string {
	h.t.Helper()
	var out []string
	require.NoError(h.t, h.engine.View(h.t.Context(), func(_ context.Context, r store.Reader) error {
		broken, err := audit.Verify(r, user.Stream(userID))
		require.Empty(h.t, broken)
		if err != nil {
			return err
		}
		entries, err := store.All[audit.Entry](r, store.Query{Collection: store.Audit, Index: "stream", Equal: []any{user.Stream(userID)}})
		for _, e := range entries {
			out = append(out, e.Action)
			require.NotContains(h.t, e.Before+e.After+e.Why, string(rightPIN), "no PIN in the trail (I13)")
		}
		return err
	}))
	return out
}

// onBoth runs a test on a fresh harness per engine; on the embedded one every Update runs twice, as it may after a
// conflict.
func onBoth(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		if engine.Name() == "bolt" {
			engine = storetest.Twice(engine)
		}
		test(t, newHarness(t, engine))
	})
}
