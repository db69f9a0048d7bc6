package flows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const ourNumber = "106000000000001"

func newSession() *Session {
	return &Session{
		User: "u1", Flow: "offramp", FlowVersion: "1", PhoneNumberID: ourNumber, State: SessionOpen,
		CreatedAt: start, ExpiresAt: start.Add(30 * time.Minute),
	}
}

func TestTokens_areStableSecretAndApart(t *testing.T) {
	t.Parallel()
	tokens, err := NewTokens([]byte("0123456789abcdef0123456789abcdef"))
	require.NoError(t, err)
	other, err := NewTokens([]byte("another key of the same length!!"))
	require.NoError(t, err)
	first := tokens.Token("s1")
	require.Equal(t, first, tokens.Token("s1"))
	require.Len(t, tokens.Token("s1"), 43)
	require.NotEqual(t, tokens.Token("s1"), tokens.Token("s2"))
	require.NotEqual(t, tokens.Token("s1"), other.Token("s1"))
	require.NotEqual(t, tokens.Token("s1"), Digest(tokens.Token("s1")))
	require.NotEqual(t, tokens.RequestDigest([]byte("x")), other.RequestDigest([]byte("x")))
	require.NotEqual(t, tokens.RequestDigest([]byte("flow:s1")), tokens.Token("s1"))
	_, err = NewTokens([]byte("short"))
	require.Error(t, err)
}

func TestSession_beginTable(t *testing.T) {
	t.Parallel()
	work, later := start.Add(time.Minute), start.Add(20*time.Second)
	tests := []struct {
		name   string
		change func(s *Session)
		digest string
		number string
		at     time.Time
		want   Decision
	}{
		{"a new request", func(*Session) {}, "d1", ourNumber, start, Proceed},
		{"another number of ours or not", func(*Session) {}, "d1", "999", start, Gone},
		{"no digest", func(*Session) {}, "", ourNumber, start, Gone},
		{"expired", func(*Session) {}, "d1", ourNumber, start.Add(30 * time.Minute), Gone},
		{"closed", func(s *Session) { s.Close() }, "d1", ourNumber, start, Gone},
		{"a copy while the first is answered", func(s *Session) { s.Working, s.WorkingUntil = "d1", &work }, "d1", ourNumber, start, Busy},
		{"another while the first is answered", func(s *Session) { s.Working, s.WorkingUntil = "d0", &work }, "d1", ourNumber, start, Busy},
		{"the first was never finished", func(s *Session) { s.Working, s.WorkingUntil = "d0", &work }, "d1", ourNumber, work, Proceed},
		{"a repeat", func(s *Session) { s.Answered, s.Answer, s.AnswerUntil = "d1", []byte("a"), &later }, "d1", ourNumber, start, Replay},
		{"a repeat after its time", func(s *Session) { s.Answered, s.Answer, s.AnswerUntil = "d1", []byte("a"), &later }, "d1", ourNumber, later, Proceed},
		{"another request after an answer", func(s *Session) { s.Answered, s.Answer, s.AnswerUntil = "d0", []byte("a"), &later }, "d1", ourNumber, start, Proceed},
		{"submitted, another request", func(s *Session) { s.State = SessionSubmitted }, "d1", ourNumber, start, Gone},
		{"submitted, the repeat", func(s *Session) {
			s.State, s.Answered, s.Answer, s.AnswerUntil = SessionSubmitted, "d1", []byte("a"), &later
		}, "d1", ourNumber, start, Replay},
		{"submitted, the repeat from another number", func(s *Session) {
			s.State, s.Answered, s.Answer, s.AnswerUntil = SessionSubmitted, "d1", []byte("a"), &later
		}, "d1", "999", start, Gone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession()
			tt.change(s)
			require.Equal(t, tt.want, s.Begin(tt.digest, tt.number, tt.at, time.Minute))
			if tt.want == Proceed {
				require.Equal(t, tt.digest, s.Working)
			}
		})
	}
}

func TestSession_aSubmissionIsAnsweredOnceAndRepeated(t *testing.T) {
	t.Parallel()
	s := newSession()
	require.Equal(t, Proceed, s.Begin("pin", ourNumber, start, time.Minute))
	require.Equal(t, Busy, s.Begin("pin", ourNumber, start, time.Minute))
	require.Error(t, s.Finish("other", "OFFRAMP_SUCCESS", []byte("x"), true, start))
	require.NoError(t, s.Finish("pin", "OFFRAMP_SUCCESS", []byte("sealed"), true, start))
	require.Equal(t, Replay, s.Begin("pin", ourNumber, start.Add(29*time.Minute), time.Minute))
	require.Equal(t, []byte("sealed"), s.Answer)
	require.Equal(t, Gone, s.Begin("init", ourNumber, start, time.Minute))
	require.Equal(t, Gone, s.Begin("pin", ourNumber, start.Add(30*time.Minute), time.Minute))
	require.True(t, s.HasShown("OFFRAMP_SUCCESS"))
	require.False(t, s.HasShown("OFFRAMP_DETAILS"))
}

func TestSession_aPersonWhoTriesAgainGetsAFreshAnswer(t *testing.T) {
	t.Parallel()
	s := newSession()
	require.Equal(t, Proceed, s.Begin("pin", ourNumber, start, time.Minute))
	require.NoError(t, s.Finish("pin", "OFFRAMP_CRYPTO_REVIEW", []byte("try again"), false, start))
	require.Equal(t, Replay, s.Begin("pin", ourNumber, start.Add(time.Second), time.Minute))
	require.Equal(t, Proceed, s.Begin("pin", ourNumber, start.Add(repeatWindow), time.Minute))
}

// fakeTx keeps sessions in a map; the engines have their own suite.
type fakeTx struct {
	store.Tx
	docs map[string]Session
}

func (f *fakeTx) Get(_ store.Collection, id string, into store.Document) error {
	doc, ok := f.docs[id]
	if !ok {
		return store.ErrNotFound
	}
	target, ok := into.(*Session)
	if !ok {
		return errors.New("not a session")
	}
	*target = doc
	return nil
}

func (f *fakeTx) Ensure(_ store.Collection, doc store.Document) (bool, error) {
	if _, ok := f.docs[doc.Head().ID]; ok {
		return false, nil
	}
	doc.Head().Revision = 1
	return true, f.keep(doc)
}

func (f *fakeTx) Replace(_ store.Collection, doc store.Document) error {
	if f.docs[doc.Head().ID].Revision != doc.Head().Revision {
		return store.ErrStale
	}
	doc.Head().Revision++
	return f.keep(doc)
}

func (f *fakeTx) keep(doc store.Document) error {
	s, ok := doc.(*Session)
	if !ok {
		return errors.New("not a session")
	}
	f.docs[s.ID] = *s
	return nil
}

func TestSession_isStoredUnderTheDigestOfItsToken(t *testing.T) {
	t.Parallel()
	tx := &fakeTx{docs: map[string]Session{}}
	require.NoError(t, CreateSession(tx, "the-token", *newSession()))
	require.NoError(t, CreateSession(tx, "the-token", *newSession()), "the transaction may run twice")
	require.Len(t, tx.docs, 1)
	for id := range tx.docs {
		require.NotContains(t, id, "the-token")
	}
	first, err := LoadSession(tx, "the-token")
	require.NoError(t, err)
	require.Equal(t, SessionOpen, first.State)
	second, err := LoadSession(tx, "the-token")
	require.NoError(t, err)

	require.Equal(t, Proceed, first.Begin("d1", ourNumber, start, time.Minute))
	require.NoError(t, SaveSession(tx, first))
	require.Equal(t, Proceed, second.Begin("d1", ourNumber, start, time.Minute))
	require.ErrorIs(t, SaveSession(tx, second), store.ErrStale, "of two copies one proceeds")

	_, err = LoadSession(tx, "guessed")
	require.ErrorIs(t, err, ErrTokenGone)
}

func TestCreateSession_refuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, token string
		change      func(s *Session)
	}{
		{"no token", "", func(*Session) {}},
		{"no user", "t", func(s *Session) { s.User = "" }},
		{"no flow", "t", func(s *Session) { s.Flow = "" }},
		{"no number", "t", func(s *Session) { s.PhoneNumberID = "" }},
		{"no life", "t", func(s *Session) { s.ExpiresAt = s.CreatedAt }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession()
			tt.change(s)
			tx := &fakeTx{docs: map[string]Session{}}
			require.Error(t, CreateSession(tx, tt.token, *s))
			require.Empty(t, tx.docs)
		})
	}
}

type failingReader struct{ store.Reader }

func (failingReader) Get(store.Collection, string, store.Document) error {
	return context.DeadlineExceeded
}

func TestLoadSession_aBrokenStoreIsNotAGoneToken(t *testing.T) {
	t.Parallel()
	_, err := LoadSession(failingReader{}, "t")
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrTokenGone)
}
