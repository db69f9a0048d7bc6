package admin

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestNew_refusesWhatIsMissing(t *testing.T) {
	t.Parallel()
	good := Deps{Engine: testkit.Bolt(t, indexes()), Sealer: fakeSealer{}, Now: time.Time{}.UTC, Rand: rand.Reader}
	keys := []Key{{ID: "a", Secret: make([]byte, 32)}}
	tests := []struct {
		name string
		deps func(*Deps)
		cfg  Config
		want string
	}{
		{"no engine", func(d *Deps) { d.Engine = nil }, Config{Keys: keys}, "Engine is missing"},
		{"no sealer", func(d *Deps) { d.Sealer = nil }, Config{Keys: keys}, "Sealer is missing"},
		{"no clock", func(d *Deps) { d.Now = nil }, Config{Keys: keys}, "Now is missing"},
		{"no randomness", func(d *Deps) { d.Rand = nil }, Config{Keys: keys}, "Rand is missing"},
		{"no keys", func(*Deps) {}, Config{}, "Keys cannot be empty"},
		{"a short key", func(*Deps) {}, Config{Keys: []Key{{ID: "a", Secret: make([]byte, 31)}}}, "32 bytes"},
		{"one id twice", func(*Deps) {}, Config{Keys: append(keys, keys...)}, "different ids"},
		{"a long token life", func(*Deps) {}, Config{Keys: keys, TokenLife: 16 * time.Minute}, "more than 15 minutes"},
		{"a negative limit", func(*Deps) {}, Config{Keys: keys, LoginLimit: -1}, "cannot be zero or negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			deps := good
			tt.deps(&deps)
			_, err := New(deps, tt.cfg)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestCreate_refusesWhatCannotBeAnAccount(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	h.staff("one@example.com", Viewer)
	tests := []struct {
		name string
		in   NewAdmin
		want string
	}{
		{"a bad address", NewAdmin{Email: "nobody", Role: Viewer, Password: password, By: "host"}, "staff_invalid"},
		{"a name beside the address", NewAdmin{Email: "A <a@example.com>", Role: Viewer, Password: password, By: "host"}, "staff_invalid"},
		{"an unknown role", NewAdmin{Email: "a@example.com", Role: "root", Password: password, By: "host"}, "staff_invalid"},
		{"a short password", NewAdmin{Email: "a@example.com", Role: Viewer, Password: "1234567", By: "host"}, "staff_invalid"},
		{"a bad one-time secret", NewAdmin{Email: "a@example.com", Role: Viewer, Password: password, TOTP: "A", By: "host"}, "staff_invalid"},
		{"nobody who creates it", NewAdmin{Email: "a@example.com", Role: Viewer, Password: password}, "staff_invalid"},
		{"the same address in capitals", NewAdmin{Email: " ONE@example.com", Role: Viewer, Password: password, By: "host"}, "staff_exists"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := h.Create(t.Context(), tt.in)
			h.wantFault(tt.want, err)
		})
	}
	made, err := h.Create(t.Context(), NewAdmin{Email: "two@example.com", Role: Viewer, Password: password, By: "host"})
	require.NoError(t, err)
	require.Len(t, made.Secret, 32)
	require.Contains(t, made.URL, "otpauth://totp/offrampbot:two@example.com?")
	require.NotContains(t, string(h.account("two@example.com").TOTP), made.Secret, "the secret is sealed")
}

func TestLogin(t *testing.T) {
	t.Parallel()
	t.Run("password and code give a token that says who and what", func(t *testing.T) {
		t.Parallel()
		h := onBolt(t)
		h.staff("op@example.com", Operator)
		token, err := h.Login(t.Context(), "OP@example.com", password, h.code())
		require.NoError(t, err)
		who, err := h.Verify(t.Context(), token.Text)
		require.NoError(t, err)
		require.Equal(t, Identity{
			ID: "op@example.com", Role: Operator, JTI: token.JTI, Expires: h.clock.Now().Add(15 * time.Minute),
		}, Identity{ID: who.ID, Role: who.Role, JTI: who.JTI, Expires: who.Expires.UTC()})
		require.Equal(t, []string{"staff_created", "login"}, h.trailOf("staff:op@example.com"))
	})
	t.Run("a code works once, and no older one after it", func(t *testing.T) {
		t.Parallel()
		h := onBolt(t)
		h.staff("op@example.com", Operator)
		old := h.code()
		fresh := h.nextCode()
		_, err := h.Login(t.Context(), "op@example.com", password, fresh)
		require.NoError(t, err)
		for _, code := range []string{fresh, old} {
			_, err = h.Login(t.Context(), "op@example.com", password, code)
			h.wantFault("login_refused", err)
		}
		_, err = h.Login(t.Context(), "op@example.com", password, h.nextCode())
		require.NoError(t, err)
	})
	t.Run("a code one period off is accepted, two are not", func(t *testing.T) {
		t.Parallel()
		h := onBolt(t)
		h.staff("op@example.com", Operator)
		code := h.code()
		h.clock.Advance(60 * time.Second)
		_, err := h.Login(t.Context(), "op@example.com", password, code)
		h.wantFault("login_refused", err)
		code = h.code()
		h.clock.Advance(30 * time.Second)
		_, err = h.Login(t.Context(), "op@example.com", password, code)
		require.NoError(t, err)
	})
	t.Run("every refusal looks the same", func(t *testing.T) {
		t.Parallel()
		h := onBolt(t)
		h.staff("op@example.com", Operator)
		h.staff("gone@example.com", Operator)
		require.NoError(t, h.SetDisabled(t.Context(), "gone@example.com", true, "host", "left us"))
		for _, in := range [][3]string{
			{"op@example.com", "wrong password", h.code()},
			{"op@example.com", password, "000000"},
			{"op@example.com", password, ""},
			{"gone@example.com", password, h.code()},
			{"nobody@example.com", password, h.code()},
			{"not an address", password, h.code()},
		} {
			_, err := h.Login(t.Context(), in[0], in[1], in[2])
			h.wantFault("login_refused", err)
			require.Equal(t, "login_refused", err.Error())
		}
	})
}

func TestLogin_locksAfterFiveTriesAndLongerEachTime(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	h.staff("op@example.com", Operator)
	fail := func() {
		_, err := h.Login(t.Context(), "op@example.com", "wrong password", "000000")
		h.wantFault("login_refused", err)
	}
	for range 5 {
		fail()
	}
	_, err := h.Login(t.Context(), "op@example.com", password, h.code())
	h.wantFault("login_refused", err)
	h.clock.Advance(15*time.Minute - time.Second)
	_, err = h.Login(t.Context(), "op@example.com", password, h.code())
	h.wantFault("login_refused", err)
	h.clock.Advance(time.Second)
	for range 5 {
		fail()
	}
	h.clock.Advance(30*time.Minute - time.Second)
	_, err = h.Login(t.Context(), "op@example.com", password, h.code())
	h.wantFault("login_refused", err)
	h.clock.Advance(time.Second)
	_, err = h.Login(t.Context(), "op@example.com", password, h.code())
	require.NoError(t, err)
	require.Zero(t, h.account("op@example.com").Locks, "a good login forgets the locks")
	require.Contains(t, h.trailOf("staff:op@example.com"), "login_locked too many attempts")
}

func TestLogin_parallelGuessesAreCountedBeforeTheyAreCompared(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, Config{})
		h.staff("op@example.com", Operator)
		var wait sync.WaitGroup
		for range 12 {
			wait.Go(func() { _, _ = h.Login(t.Context(), "op@example.com", "wrong password", "000000") })
		}
		wait.Wait()
		compared := 0
		for _, line := range h.trailOf("staff:op@example.com") {
			if line == "login_refused password" {
				compared++
			}
		}
		require.Equal(t, 5, compared)
		_, err := h.Login(t.Context(), "op@example.com", password, h.code())
		h.wantFault("login_refused", err)
	})
}

func TestLogin_oneCodeLetsOneOfManyIn(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, Config{LoginLimit: 1000})
		h.staff("op@example.com", Operator)
		code := h.code()
		var in atomic.Int32
		var wait sync.WaitGroup
		for range 6 {
			wait.Go(func() {
				if _, err := h.Login(t.Context(), "op@example.com", password, code); err == nil {
					in.Add(1)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, 1, in.Load())
	})
}

func TestPassword_hashOfAnotherCostIsRefused(t *testing.T) {
	t.Parallel()
	h, err := newHasher(rand.Reader)
	require.NoError(t, err)
	stored, err := h.hash(t.Context(), password)
	require.NoError(t, err)
	ok, err := h.matches(t.Context(), password, stored)
	require.NoError(t, err)
	require.True(t, ok)
	for _, weak := range []string{"", "x", "$argon2id$v=19$m=1024,t=1,p=1$AAAA$AAAA", "$2a$10$" + stored} {
		_, err := h.matches(t.Context(), password, weak)
		require.Error(t, err, weak)
	}
}
