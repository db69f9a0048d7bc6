package session_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/redishook/redistest"
	"offrampbot/services/session"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const digest = "q3J5b0Vt2mYvS0hTqkqfQmZ5pOa7yB1x"

var draft = session.Draft{
	Topic: "sell", Step: "choose_amount", Asset: "USDT", Chain: "bsc", Fiat: "NGN", Amount: 27_500_000,
	Beneficiary: "0190f5e2-1234-7abc-8def-001122334455", Intent: "0190f5e2-1234-7abc-8def-001122334466",
	Offered: []session.ID{digest, "0190f5e2-1234-7abc-8def-001122334455"}, Misses: 1,
	UpdatedAt: time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC),
}

func TestStore_keepsADraftForHalfAnHour(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		store, err := session.New(s.Client, slog.New(slog.DiscardHandler), session.Config{Prefix: s.Prefix})
		require.NoError(t, err)
		_, ok := store.Get(t.Context(), digest)
		require.False(t, ok)
		require.NoError(t, store.Put(t.Context(), digest, draft))
		got, ok := store.Get(t.Context(), digest)
		require.True(t, ok)
		require.Equal(t, draft, got)
		ttl := s.Client.TTL(t.Context(), s.Prefix+digest).Val()
		require.Greater(t, ttl, session.Life-time.Minute)
		require.LessOrEqual(t, ttl, session.Life)
		store.Delete(t.Context(), digest)
		_, ok = store.Get(t.Context(), digest)
		require.False(t, ok)
		if s.AdvanceFunc != nil {
			require.NoError(t, store.Put(t.Context(), digest, draft))
			s.AdvanceFunc(session.Life)
			_, ok = store.Get(t.Context(), digest)
			require.False(t, ok)
		}
	})
}

func TestStore_withoutRedisThereIsNoDraftAndAWarning(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]*redis.Client{
		"stopped": redistest.Stopped(t), "hanging": redistest.Hanging(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			store, err := session.New(client, slog.New(slog.NewJSONHandler(&log, nil)), session.Config{})
			require.NoError(t, err)
			require.NoError(t, store.Put(t.Context(), digest, draft))
			_, ok := store.Get(t.Context(), digest)
			require.False(t, ok)
			store.Delete(t.Context(), digest)
			for _, text := range []string{"not stored", "not read", "not deleted"} {
				require.Contains(t, log.String(), text)
			}
			require.NotContains(t, log.String(), digest)
		})
	}
}

func TestStore_somethingElseUnderTheKeyIsNoDraft(t *testing.T) {
	t.Parallel()
	s := redistest.Mini(t)
	store, err := session.New(s.Client, slog.New(slog.DiscardHandler), session.Config{Prefix: s.Prefix})
	require.NoError(t, err)
	require.NoError(t, s.Client.Set(t.Context(), s.Prefix+digest, "{", time.Minute).Err())
	_, ok := store.Get(t.Context(), digest)
	require.False(t, ok)
}

func TestPut_refusesWhatMayBePersonal(t *testing.T) {
	t.Parallel()
	s := redistest.Mini(t)
	store, err := session.New(s.Client, slog.New(slog.DiscardHandler), session.Config{Prefix: s.Prefix})
	require.NoError(t, err)
	tests := []struct {
		name string
		in   session.Draft
	}{
		{"a PIN as step", session.Draft{Step: "1234"}},
		{"a PIN behind a word", session.Draft{Step: "pin-482913"}},
		{"an account number as asset", session.Draft{Asset: "0123456789"}},
		{"a sentence as topic", session.Draft{Topic: "my pin is"}},
		{"an account number as beneficiary", session.Draft{Beneficiary: "0123456789"}},
		{"a long account number as intent", session.Draft{Intent: "01234567890123456789"}},
		{"an account number behind letters", session.Draft{Intent: "bank-gtb-0123456789"}},
		{"a phone number among the choices", session.Draft{Offered: []session.ID{"+2348012345678"}}},
		{"a name as id", session.Draft{Beneficiary: "Ada Lovelace-Byron"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := store.Put(t.Context(), digest, tt.in)
			require.ErrorIs(t, err, session.ErrPersonal)
			for _, secret := range []string{"1234", "482913", "0123456789", "2348012345678", "Ada"} {
				require.NotContains(t, err.Error(), secret)
			}
			_, ok := store.Get(t.Context(), digest)
			require.False(t, ok)
		})
	}
}

func TestID_takesEveryUUIDAndNoNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b [16]byte
		copy(b[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
		_, err := session.ID(uuid.UUID(b).String()).MarshalText()
		require.NoError(t, err)
		number := rapid.StringMatching(`[0-9]{4,20}`).Draw(t, "number")
		_, err = session.ID(number).MarshalText()
		require.ErrorIs(t, err, session.ErrPersonal)
		_, err = session.Word(rapid.SampledFrom([]string{"", "a", "pin_"}).Draw(t, "before") + number).MarshalText()
		require.ErrorIs(t, err, session.ErrPersonal)
	})
}

func TestNew_refusesMissingDependencies(t *testing.T) {
	t.Parallel()
	_, err := session.New(nil, slog.New(slog.DiscardHandler), session.Config{})
	require.ErrorContains(t, err, "client")
	_, err = session.New(redistest.Stopped(t), nil, session.Config{})
	require.ErrorContains(t, err, "log")
	require.True(t, strings.HasPrefix(err.Error(), "make session store"))
}
