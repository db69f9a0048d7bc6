package ids

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReference_isNineCharactersAndDependsOnEverything(t *testing.T) {
	t.Parallel()
	a := Reference(testKey, "intent-1", 0)
	require.Len(t, a, 9)
	require.Equal(t, a, Reference(testKey, "intent-1", 0))
	require.NotEqual(t, a, Reference(testKey, "intent-1", 1))
	require.NotEqual(t, a, Reference(testKey, "intent-2", 0))
	require.NotEqual(t, a, Reference([]byte("other"), "intent-1", 0))
}

func TestParseReference_readsWhatPeopleType(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ref := Reference(testKey, rapid.String().Draw(t, "intent"), rapid.IntRange(0, 9).Draw(t, "n"))
		typed := strings.NewReplacer("0", "o", "1", "L").Replace(strings.ToLower(ref))
		at := rapid.IntRange(0, len(typed)).Draw(t, "at")
		typed = " " + typed[:at] + rapid.SampledFrom([]string{"", "-", " ", " - "}).Draw(t, "separator") + typed[at:] + " "
		got, ok := ParseReference(typed)
		require.True(t, ok, "%q", typed)
		require.Equal(t, ref, got)
		require.Equal(t, ref, NormalID(typed))
	})
}

func TestParseReference_noticesEveryWrongCharacterAndEveryExchange(t *testing.T) {
	t.Parallel()
	ref := Reference(testKey, "intent", 0)
	for i := range len(ref) {
		for _, c := range crockford {
			changed := ref[:i] + string(c) + ref[i+1:]
			_, ok := ParseReference(changed)
			require.Equal(t, changed == ref, ok, "%s", changed)
		}
		for j := range i {
			b := []byte(ref)
			b[i], b[j] = b[j], b[i]
			_, ok := ParseReference(string(b))
			require.Equal(t, string(b) == ref, ok, "%s", b)
		}
	}
}

func TestParseReference_refusesEverythingElse(t *testing.T) {
	t.Parallel()
	ref := Reference(testKey, "intent", 0)
	for _, s := range []string{
		"", " ", ref[:8], ref + "0", "U" + ref[1:], "é" + ref[1:], ref[:4] + "_" + ref[4:], ref[:8] + "*",
		strings.Repeat("-", 200) + ref, "sell 50 usdt",
	} {
		_, ok := ParseReference(s)
		require.False(t, ok, "%q", s)
	}
}

func TestNormalID_knowsWhichKindsHaveNoCase(t *testing.T) {
	t.Parallel()
	hash := "0x" + strings.Repeat("aB", 32)
	address := "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	tests := []struct{ name, in, want string }{
		{"transaction hash", " " + hash + "\n", strings.ToLower(hash)},
		{"address with a zero-width space inside", address[:10] + "\u200b" + address[10:], strings.ToLower(address)},
		{"deposit ref", "Base:" + hash + ":0", "base:" + strings.ToLower(hash) + ":0"},
		{"chain and transaction", "BASE:" + hash, "base:" + strings.ToLower(hash)},
		{"e-mail", "Ada@Example.COM", "ada@example.com"},
		{"wamid", " wamid.HBgNMjM0 ", "wamid.HBgNMjM0"},
		{"delivery", "wa:wamid.HBgN", "wa:wamid.HBgN"},
		{"provider's code", "TRF_aBc", "TRF_aBc"},
		{"digest", "NQw0tc3MUpMaHZ8CFcvkKgMTPfQRSHBGXrvxbqCAsU8", "NQw0tc3MUpMaHZ8CFcvkKgMTPfQRSHBGXrvxbqCAsU8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, NormalID(tt.in))
			require.Equal(t, tt.want, NormalID(tt.want), "normalising twice changes nothing")
		})
	}
	require.Equal(t, strings.ToLower(hash)+"|order:o1", LinkID(hash, "order:o1"))
}

func FuzzParseReference(f *testing.F) {
	f.Add(Reference(testKey, "intent", 0))
	f.Add("o0il-1234 5")
	f.Fuzz(func(t *testing.T, s string) {
		canonical, ok := ParseReference(s)
		if !ok {
			require.Empty(t, canonical)
			return
		}
		again, ok := ParseReference(canonical)
		require.True(t, ok)
		require.Equal(t, canonical, again)
		require.Equal(t, canonical, NormalID(s))
	})
}
