package user_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/user"
)

func pepper(id string) user.Pepper {
	return user.Pepper{ID: id, Key: []byte(strings.Repeat(id+"-", 32))[:32]}
}

// S3: a database dump without the pepper cannot verify, and the cost is never below t=2, 19 MiB.
func TestArgon_verifiesOnlyWithItsPepper(t *testing.T) {
	t.Parallel()
	old, err := user.NewArgon([]user.Pepper{pepper("a")}, user.DefaultCost())
	require.NoError(t, err)
	encoded, id, err := old.Hash(rightPIN)
	require.NoError(t, err)
	require.Equal(t, "a", id)
	require.True(t, strings.HasPrefix(encoded, "$argon2id$v=19$m=19456,t=2,p=1$"), encoded)

	right, outdated, err := old.Verify(encoded, id, rightPIN)
	require.NoError(t, err)
	require.True(t, right)
	require.False(t, outdated)
	right, _, err = old.Verify(encoded, id, wrongPIN)
	require.NoError(t, err)
	require.False(t, right)

	stolen, err := user.NewArgon([]user.Pepper{{ID: "a", Key: []byte(strings.Repeat("x", 32))}}, user.DefaultCost())
	require.NoError(t, err)
	right, _, err = stolen.Verify(encoded, id, rightPIN)
	require.NoError(t, err)
	require.False(t, right, "another pepper of the same id opens nothing")

	turned, err := user.NewArgon([]user.Pepper{pepper("b"), pepper("a")}, user.DefaultCost())
	require.NoError(t, err)
	right, outdated, err = turned.Verify(encoded, id, rightPIN)
	require.NoError(t, err)
	require.True(t, right)
	require.True(t, outdated, "the pepper has turned")

	gone, err := user.NewArgon([]user.Pepper{pepper("b")}, user.DefaultCost())
	require.NoError(t, err)
	_, _, err = gone.Verify(encoded, id, rightPIN)
	require.ErrorContains(t, err, `pepper "a"`, "not known is not wrong")
}

func TestArgon_saltsEveryHash(t *testing.T) {
	t.Parallel()
	a, err := user.NewArgon([]user.Pepper{pepper("a")}, user.DefaultCost())
	require.NoError(t, err)
	one, _, err := a.Hash(rightPIN)
	require.NoError(t, err)
	two, _, err := a.Hash(rightPIN)
	require.NoError(t, err)
	require.NotEqual(t, one, two)
}

func TestNewArgon_refusesAWeakCostAndBadPeppers(t *testing.T) {
	t.Parallel()
	good := []user.Pepper{pepper("a")}
	for name, make := range map[string]func() (*user.Argon, error){
		"one pass": func() (*user.Argon, error) {
			return user.NewArgon(good, user.Cost{Time: 1, MemoryKiB: 19456, Threads: 1})
		},
		"less than 19 MiB": func() (*user.Argon, error) {
			return user.NewArgon(good, user.Cost{Time: 2, MemoryKiB: 19455, Threads: 1})
		},
		"no thread": func() (*user.Argon, error) { return user.NewArgon(good, user.Cost{Time: 2, MemoryKiB: 19456}) },
		"absurd memory": func() (*user.Argon, error) {
			return user.NewArgon(good, user.Cost{Time: 2, MemoryKiB: 1 << 30, Threads: 1})
		},
		"no pepper": func() (*user.Argon, error) { return user.NewArgon(nil, user.DefaultCost()) },
		"a short pepper": func() (*user.Argon, error) {
			return user.NewArgon([]user.Pepper{{ID: "a", Key: []byte("short")}}, user.DefaultCost())
		},
		"a nameless pepper": func() (*user.Argon, error) { return user.NewArgon([]user.Pepper{pepper("")}, user.DefaultCost()) },
		"two of one name": func() (*user.Argon, error) {
			return user.NewArgon([]user.Pepper{pepper("a"), pepper("a")}, user.DefaultCost())
		},
	} {
		_, err := make()
		require.Error(t, err, name)
	}
}

func FuzzVerify_neverPanicsOnAStoredHash(f *testing.F) {
	a, err := user.NewArgon([]user.Pepper{pepper("a")}, user.DefaultCost())
	require.NoError(f, err)
	for _, seed := range []string{
		"", "$", "$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA", "$argon2id$v=19$m=99999999,t=2,p=1$c2FsdHNhbHQ$c3Vtc3Vtc3Vtc3Vtc3Vt",
		"$argon2id$v=19$m=8,t=1,p=0$c2FsdHNhbHQ$c3Vtc3Vtc3Vtc3Vtc3Vt", "$argon2i$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$c3Vtc3Vtc3Vtc3Vtc3Vt",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, encoded string) {
		if len(encoded) > 200 || strings.Contains(encoded, "m=1") && len(encoded) > 80 {
			return // a real hash costs real memory
		}
		right, _, _ := a.Verify(encoded, "a", rightPIN)
		require.False(t, right)
	})
}
