package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// testKey is a key of 32 equal bytes.
func testKey(id string, b byte) Key { return Key{ID: id, Bytes: bytes.Repeat([]byte{b}, KeySize)} }

func ring(t require.TestingT, keys ...Key) *Keyring {
	k, err := NewKeyring(keys...)
	require.NoError(t, err)
	return k
}

func TestSeal_opensForTheSameRecordOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := ring(t, testKey("a", 1))
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		record := rapid.String().Draw(t, "record")
		sealed, err := k.Seal(plain, record)
		require.NoError(t, err)
		got, err := k.Open(sealed, record)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, got))
		_, err = k.Open(sealed, record+rapid.StringN(1, 4, -1).Draw(t, "more"))
		require.ErrorIs(t, err, ErrOpen)
	})
}

func TestSeal_neverMakesTheSameTwiceAndHidesThePlainText(t *testing.T) {
	t.Parallel()
	k := ring(t, testKey("a", 1))
	one, err := k.Seal([]byte("0123456789"), "beneficiary:1")
	require.NoError(t, err)
	two, err := k.Seal([]byte("0123456789"), "beneficiary:1")
	require.NoError(t, err)
	require.NotEqual(t, one, two)
	require.NotContains(t, string(one), "0123456789")
	require.NotContains(t, string(one), "beneficiary")
	id, err := KeyID(one)
	require.NoError(t, err)
	require.Equal(t, "a", id)
}

func TestOpen_refusesEveryChangedByte(t *testing.T) {
	t.Parallel()
	k := ring(t, testKey("ab", 1))
	sealed, err := k.Seal([]byte("secret"), "r")
	require.NoError(t, err)
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		_, err := k.Open(changed, "r")
		require.Error(t, err, "byte %d", i)
		_, err = k.Open(sealed[:i], "r")
		require.Error(t, err, "%d bytes", i)
	}
	_, err = k.Open(append(bytes.Clone(sealed), 0), "r")
	require.ErrorIs(t, err, ErrOpen)
}

func TestOpen_tellsItsRefusalsApart(t *testing.T) {
	t.Parallel()
	k := ring(t, testKey("a", 1))
	sealed, err := k.Seal([]byte("secret"), "r")
	require.NoError(t, err)
	tests := []struct {
		name   string
		by     *Keyring
		sealed []byte
		record string
		want   error
	}{
		{"another record", k, sealed, "s", ErrOpen},
		{"another key of the same id", ring(t, testKey("a", 2)), sealed, "r", ErrOpen},
		{"an unknown key id", ring(t, testKey("b", 1)), sealed, "r", ErrKeyUnknown},
		{"truncated in the tag", k, sealed[:len(sealed)-1], "r", ErrOpen},
		{"truncated in the nonce", k, sealed[:10], "r", ErrForm},
		{"truncated in the header", k, sealed[:2], "r", ErrForm},
		{"empty", k, nil, "r", ErrForm},
		{"plain text", k, []byte("0123456789"), "r", ErrForm},
		{"another version", k, append([]byte{9}, sealed[1:]...), "r", ErrForm},
		{"an impossible key id", k, []byte{version, 1, ' ', 0, 0}, "r", ErrForm},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.by.Open(tt.sealed, tt.record)
			require.ErrorIs(t, err, tt.want)
			require.Nil(t, got)
		})
	}
}

func TestKeyring_rotates(t *testing.T) {
	t.Parallel()
	before := ring(t, testKey("old", 1))
	sealed, err := before.Seal([]byte("secret"), "r")
	require.NoError(t, err)
	require.False(t, before.NeedsReseal(sealed))

	after := ring(t, testKey("new", 2), testKey("old", 1))
	plain, err := after.Open(sealed, "r")
	require.NoError(t, err)
	require.Equal(t, "secret", string(plain))
	require.True(t, after.NeedsReseal(sealed))
	again, err := after.Seal(plain, "r")
	require.NoError(t, err)
	require.False(t, after.NeedsReseal(again))
	_, err = before.Open(again, "r")
	require.ErrorIs(t, err, ErrKeyUnknown)
	require.True(t, after.NeedsReseal([]byte("0123456789")))
}

func TestParseKeyring_takesEveryBase64AndNeverShowsAKey(t *testing.T) {
	t.Parallel()
	raw := bytes.Repeat([]byte{0xfb, 0xff}, KeySize/2) // holds + and / in the standard alphabet
	want, err := ring(t, Key{"k1", raw}).Seal([]byte("x"), "r")
	require.NoError(t, err)
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		k, err := ParseKeyring("k1:" + enc.EncodeToString(raw) + ", k2:" + enc.EncodeToString(bytes.Repeat([]byte{7}, KeySize)))
		require.NoError(t, err)
		require.Equal(t, "k1,k2", k.String())
		got, err := k.Open(want, "r")
		require.NoError(t, err)
		require.Equal(t, "x", string(got))
	}
}

func TestParseKeyring_refusesWithoutShowingAKey(t *testing.T) {
	t.Parallel()
	good := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, KeySize))
	tests := []struct{ name, in, want string }{
		{"empty", "", "read key 1: not id:base64"},
		{"no id", good, "read key 1: not id:base64"},
		{"an empty id", ":" + good, "id of key 1"},
		{"a bad id", "a b:" + good, "id of key 1"},
		{"a key that is too short", "a:" + good + ",b:" + good[:20], "key 2 has 15 bytes instead of 32"},
		{"a key that is too long", "a:" + base64.StdEncoding.EncodeToString(make([]byte, 33)), "key 1 has 33 bytes"},
		{"not base64", "a:" + good + ",b:" + strings.Repeat("!", 44), "read key 2: the key is not base64"},
		{"one id twice", "a:" + good + ",a:" + good, "key 2 has the id of another"},
		{"a comma at the end", "a:" + good + ",", "read key 2: not id:base64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k, err := ParseKeyring(tt.in)
			require.Nil(t, k)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), good[:12])
		})
	}
	_, err := NewKeyring()
	require.ErrorContains(t, err, "no key")
}

func TestKeys_printTheirIDsOnly(t *testing.T) {
	t.Parallel()
	key := Key{ID: "k1", Bytes: []byte("0123456789abcdef0123456789abcdef")}
	k := ring(t, key)
	asJSON, err := json.Marshal([]Key{key})
	require.NoError(t, err)
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("loaded", "ring", k, "key", key)
	for _, printed := range []string{fmt.Sprintf("%v %+v %#v %s", k, k, k, k), fmt.Sprintf("%v %+v %#v", key, key, []Key{key}), string(asJSON), logged.String()} {
		require.Contains(t, printed, "k1")
		require.NotContains(t, printed, "0123456789")
		require.NotContains(t, printed, "48 49 50")
		require.NotContains(t, printed, "0x30, 0x31")
		require.NotContains(t, printed, "MDEyMzQ1")
	}
}

func TestEqual_comparesWhole(t *testing.T) {
	t.Parallel()
	require.True(t, EqualText("", ""))
	require.True(t, EqualText("sha256=ab", "sha256=ab"))
	require.False(t, EqualText("sha256=ab", "sha256=ac"))
	require.False(t, EqualText("sha256=ab", "sha256=a"))
	require.False(t, Equal(nil, []byte{0}))
}

func FuzzOpen(f *testing.F) {
	k := ring(f, testKey("a", 1))
	sealed, err := k.Seal([]byte("secret"), "r")
	require.NoError(f, err)
	f.Add(sealed)
	f.Add([]byte{version, 1, 'a'})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := k.Open(data, "r")
		if err == nil {
			require.Equal(t, "secret", string(got), "nothing opens that was not sealed")
			require.False(t, k.NeedsReseal(data))
			return
		}
		require.Nil(t, got)
	})
}
