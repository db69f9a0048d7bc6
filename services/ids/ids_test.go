package ids

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var testKey = []byte("0123456789abcdef0123456789abcdef")

func TestDigest_isStableAndDependsOnKeyAndFields(t *testing.T) {
	t.Parallel()
	// The value was computed by another implementation; a change of the scheme would orphan every digest stored.
	require.Equal(t, "y0Qex-iz_09o5kdu5zBeQ8RndgPY_OX0tI8EcSCHOZU", Digest(testKey, "user", "0123456789"))
	require.NotEqual(t, Digest(testKey, "a"), Digest([]byte("other"), "a"))
}

func TestDigest_neverConfusesTwoListsOfFields(t *testing.T) {
	t.Parallel()
	lists := [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"ab", ""}, {"", "ab"}, {"a:b"}, {"a", ":b"}}
	seen := map[string][]string{}
	for _, l := range lists {
		d := Digest(testKey, l...)
		require.NotContains(t, seen, d, "%q and %q", l, seen[d])
		seen[d] = l
	}
}

func TestDigest_differsForAnyTwoDifferentLists(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("a:|\x00")), 0, 4, -1), 0, 4)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		same := len(a) == len(b)
		for i := 0; same && i < len(a); i++ {
			same = a[i] == b[i]
		}
		require.Equal(t, same, Digest(testKey, a...) == Digest(testKey, b...))
	})
}

func TestNewIntent_isAUUIDv7AndNeverTheSame(t *testing.T) {
	t.Parallel()
	a, err := NewIntent()
	require.NoError(t, err)
	b, err := NewIntent()
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	id, err := uuid.Parse(a)
	require.NoError(t, err)
	require.Equal(t, uuid.Version(7), id.Version())
	require.Equal(t, a, NormalID(strings.ToUpper(a)))
}

func TestOperationIDs_haveTheFormsOfTheDesign(t *testing.T) {
	t.Parallel()
	tests := []struct{ got, want string }{
		{WhatsAppDelivery("wamid.HBgA"), "wa:wamid.HBgA"},
		{ProviderDelivery("paystack", "transfer.success", "ofr-x", "success"), "paystack:transfer.success:ofr-x:success"},
		{ChainDelivery("evt-1"), "chain:evt-1"},
		{Operation("start-exchange", "o1", 0), "start-exchange:o1"},
		{Operation("start-exchange", "o1", 1), "start-exchange:o1"},
		{Operation("payout", "o1", 2), "payout:o1:2"},
		{Notify("o1", 7), "notify:o1:7"},
		{LookUp("payout:o1:2", 3), "look-up:payout:o1:2:3"},
		{Posting("payout:o1:2", "post"), "payout:o1:2:post"},
		{Posting(DepositSource("base:0xab:0", 1), "credit"), "base:0xab:0:1:credit"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, tt.got)
	}
}

func TestProviderDelivery_keepsPartsApart(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, ProviderDelivery("p", "a:b", "c", "d"), ProviderDelivery("p", "a", "b:c", "d"))
	require.NotEqual(t, ProviderDelivery("p", "a%3Ab", "c", "d"), ProviderDelivery("p", "a:b", "c", "d"))
}

func TestProviderReference_followsTheProvidersRule(t *testing.T) {
	t.Parallel()
	rule := regexp.MustCompile(`^ofr-[a-z0-9-]{12,36}$`)
	first := ProviderReference("payout:0190f3c0-0000-7000-8000-000000000001")
	require.Equal(t, first, ProviderReference("payout:0190f3c0-0000-7000-8000-000000000001"))
	require.NotEqual(t, first, ProviderReference("payout:0190f3c0-0000-7000-8000-000000000001:2"))
	rapid.Check(t, func(t *rapid.T) {
		ref := ProviderReference(rapid.String().Draw(t, "operation"))
		require.Regexp(t, rule, ref)
		require.GreaterOrEqual(t, len(ref), 16)
		require.LessOrEqual(t, len(ref), 40)
		require.Equal(t, ref, NormalID(strings.ToUpper(ref)))
	})
}
