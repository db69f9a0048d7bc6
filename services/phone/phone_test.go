package phone

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNumber_printsMaskedEverywhere(t *testing.T) {
	t.Parallel()
	const secret = "2348031234567"
	n := Number(secret)
	asJSON, err := json.Marshal(map[string]any{"phone": struct{ Phone Number }{n}})
	require.NoError(t, err)
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("seen", "phone", n, "list", []Number{n})
	for _, printed := range []string{
		fmt.Sprint(n), fmt.Sprintf("%s %v %+v %#v %q", n, n, n, n, n), fmt.Sprintf("%+v %#v", struct{ N Number }{n}, []Number{n}),
		string(asJSON), logged.String(),
	} {
		require.NotContains(t, printed, "1234567")
		require.NotContains(t, printed, "23480")
		require.Contains(t, printed, "567")
	}
	require.Equal(t, "…567", n.String())
	require.Equal(t, "…", Number("123456").String())
	require.Equal(t, secret, string(n))
}

func TestCountry_readsNumbersAndScopedIDs(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"2348031234567", "NG"}, {"233241234567", "GH"}, {"254712345678", "KE"}, {"27821234567", "ZA"},
		{"14155552671", "US"}, {"14165550123", "CA"}, {"77012345678", "KZ"}, {"79161234567", "RU"},
		{"5511987654321", "BR"}, {"5215512345678", "MX"}, {"5491123456789", "AR"},
		{"NG.13491208655302741918", "NG"}, {"US.ENT.12", "US"},
		{"ZZ.1", ""}, {"ng.1", ""}, {"", ""}, {"+2348031234567", ""}, {"0803", ""}, {"8001234", ""}, {"80012345678", ""},
		{"2348031234567890123", ""}, {"abc", ""}, {"99912345678", ""},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, Country(tt.in), "%q", tt.in)
	}
}

func TestCountry_acceptsANumberThatTheLibrarysPlanDoesNotKnowYet(t *testing.T) {
	t.Parallel()
	require.Equal(t, "NG", Country("2340001112223"), "the calling code is enough (B104)")
}

func TestZone_loadsForEveryCountryAndIsUTCElse(t *testing.T) {
	t.Parallel()
	for country, name := range zones {
		loc, err := time.LoadLocation(name)
		require.NoError(t, err, country)
		require.Equal(t, loc.String(), Zone(country).String())
		require.Len(t, country, 2)
	}
	require.Equal(t, "Africa/Lagos", Zone("NG").String())
	require.Equal(t, time.UTC, Zone(""))
	require.Equal(t, time.UTC, Zone("ng"))
	require.Equal(t, time.UTC, Zone("ZZ"))
}

func TestIsScopedID_isAboutTheFormAlone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"NG.1", "US.ENT.1", "ZZ."} {
		require.True(t, IsScopedID(s), s)
		require.False(t, IsNumber(s), s)
		require.Equal(t, []string{s}, Variants(s))
	}
	for _, s := range []string{"", "2348031234567", "ng.1", "N.1", "NGA.1", " NG.1"} {
		require.False(t, IsScopedID(s), s)
	}
}

func TestVariants_findOnePersonUnderBothForms(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{
		{"5511987654321", "551187654321"}, // Brazil, São Paulo
		{"5531991234567", "553191234567"}, // Brazil, Belo Horizonte
		{"5215512345678", "525512345678"}, // Mexico
		{"5491123456789", "541123456789"}, // Argentina
	}
	for _, p := range pairs {
		require.Equal(t, []string{p[0], p[1]}, Variants(p[0]))
		require.Equal(t, []string{p[1], p[0]}, Variants(p[1]))
	}
	for _, only := range []string{"2348031234567", "14155552671", "551133334444", "5511933334444", "", "55", "+5511987654321"} {
		require.Equal(t, []string{only}, Variants(only), "a landline or another country has one form")
	}
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"2348031234567", "5511987654321", "551187654321", "525512345678", "541123456789", "NG.1", "US.ENT.9", "", "٢٣٤"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		country := Country(s)
		require.NotNil(t, Zone(country))
		variants := Variants(s)
		require.Equal(t, s, variants[0], "the id itself is never rewritten")
		for _, v := range variants[1:] {
			require.True(t, slices.Contains(Variants(v), s), "%s and %s find each other", s, v)
			require.Equal(t, country, Country(v))
		}
		if len(s) > 2*shownDigits && IsNumber(s) {
			require.NotContains(t, Number(s).String(), s[:len(s)-shownDigits])
		}
	})
}
