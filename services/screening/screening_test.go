package screening_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/screening"
)

const bad = "0xAbCdEf0123456789aBcDeF0123456789AbCdEf01"

const list = "\ufeff# made up\n" + bad + `   # a mixer
Ọlá Adébáyọ̀
  Obi, Ada

Cher
name: X1 Trading 4u
O'Brien-Smith Jr.
Иван Петров
address: 7YttLkHDoNj9wyDur5pM1ejNaAvT9X4eqaYcHQqtj2G5
bnb136ns6lfw4zs5hg4n85vdthaad7hq5m4gtkgf23
`

func parsed(t testing.TB) *screening.List {
	t.Helper()
	l, err := screening.Parse(strings.NewReader(list))
	require.NoError(t, err)
	return l
}

func TestCheck_findsNamesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		line int // 0: no hit
	}{
		{"OLA ADEBAYO", 3}, {"Adebayo, Olá", 3}, {"ADEBAYO OLA CHINEDU", 3}, {"Ola\u200b Adebayo", 3}, {"Ｏｌａ Ａｄｅｂａｙｏ", 3},
		{"Adebayo", 0}, {"Ola", 0}, {"Olaadebayo", 0}, {"Ola Adebayor", 0},
		{"ada obi", 4}, {"ADA CHIDI OBI", 4}, {"Ada Obiora", 0},
		{"CHER", 6}, {"Cher Smith", 0},
		{"x1 trading 4u ltd", 7}, {"OBRIEN SMITH JR", 8}, {"o’brien smith, jr", 8},
		{"ПЕТРОВ ИВАН", 9}, {"Somebody Else", 0},
	}
	for _, tt := range tests {
		hit, err := parsed(t).Check(t.Context(), screening.Name, tt.name)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.line, hit.Line, tt.name)
		require.Equal(t, tt.line != 0, hit.Found, tt.name)
	}
}

func TestCheck_findsAddressesInAnyCase(t *testing.T) {
	t.Parallel()
	l := parsed(t)
	for address, line := range map[string]int{
		bad: 2, strings.ToLower(bad): 2, "0X" + strings.ToUpper(bad[2:]): 2, " " + bad + "\n": 2,
		"7yttlkhdonj9wydur5pm1ejnaavt9x4eqaychqqtj2g5": 10, "bnb136ns6lfw4zs5hg4n85vdthaad7hq5m4gtkgf23": 11,
		"0x0000000000000000000000000000000000000000": 0,
	} {
		hit, err := l.Check(t.Context(), screening.Address, address)
		require.NoError(t, err, address)
		require.Equal(t, line, hit.Line, address)
	}
	require.Equal(t, 9, l.Size())
}

func TestCheck_refusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, l := range []*screening.List{parsed(t), screening.Empty()} {
		for _, address := range []string{"", "0x", "0x12", bad + "0", bad[:41] + "g", "hello"} {
			require.Error(t, l.Address(address), address)
			require.False(t, fault.Is(l.Address(address), "screening_hit"), "not checked is not a hit")
		}
		for _, name := range []string{"", "  ", "...", "12345", strings.Repeat("a", 5000)} {
			require.Error(t, l.Name(name))
		}
		_, err := l.Check(t.Context(), "phone", "x")
		require.Error(t, err)
	}
}

func TestHit_isAFaultThatDoesNotNameTheEntry(t *testing.T) {
	t.Parallel()
	err := parsed(t).Name("Ada Obi")
	require.True(t, fault.Is(err, "screening_hit"))
	require.ErrorContains(t, err, "line 4")
	require.NotContains(t, err.Error(), "Obi")
	require.NoError(t, screening.Empty().Name("Ada Obi"))
	require.NoError(t, screening.Empty().Address(bad))
}

func TestParse_refusesAListWithABadLineWhole(t *testing.T) {
	t.Parallel()
	_, err := screening.Parse(strings.NewReader("Ada Obi\n0x1234\nname: ...\naddress: nothing here\n"))
	require.ErrorContains(t, err, "line 2: not an address")
	require.ErrorContains(t, err, "line 3: a name without a letter")
	require.ErrorContains(t, err, "line 4: not an address")
	_, err = screening.Parse(strings.NewReader(strings.Repeat("a", 10_000)))
	require.Error(t, err)
}

func TestOpen_neverMeansNobodyByAccident(t *testing.T) {
	t.Parallel()
	_, err := screening.Open("")
	require.ErrorContains(t, err, "SCREENING_FILE")
	_, err = screening.Open(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
	f, err := screening.Open(screening.None)
	require.NoError(t, err)
	require.NoError(t, f.Name("Ada Obi"))
	worked, err := f.Step(t.Context())
	require.NoError(t, err)
	require.False(t, worked)
}

func TestFile_takesAChangeAndKeepsTheOldListOverABadOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "list")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("Ada Obi\n")
	f, err := screening.Open(path)
	require.NoError(t, err)
	require.Error(t, f.Name("Ada Obi"))
	worked, err := f.Step(t.Context())
	require.NoError(t, err)
	require.False(t, worked, "nothing has changed")

	write("0x12\n")
	_, err = f.Step(t.Context())
	require.Error(t, err)
	require.Error(t, f.Name("Ada Obi"), "the old list is in force")

	write("Sam Doe\n" + bad + "\n")
	worked, err = f.Step(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	require.NoError(t, f.Name("Ada Obi"))
	require.True(t, fault.Is(f.Name("Doe Sam"), "screening_hit"))
	require.True(t, fault.Is(f.Address(bad), "screening_hit"))
	hit, err := f.Check(t.Context(), screening.Name, "Sam Doe")
	require.NoError(t, err)
	require.True(t, hit.Found)
	require.Equal(t, 2, f.Size())

	require.NoError(t, os.Remove(path))
	_, err = f.Step(t.Context())
	require.Error(t, err)
	require.Error(t, f.Name("Sam Doe"))
}

func FuzzName(f *testing.F) {
	for _, seed := range strings.Split(list, "\n") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		l, err := screening.Parse(strings.NewReader("name:" + strings.NewReplacer("\n", " ", "\r", " ", "#", " ").Replace(name)))
		if err != nil {
			return
		}
		hit, err := l.Check(t.Context(), screening.Name, strings.NewReplacer("\n", " ", "\r", " ", "#", " ").Replace(name))
		require.NoError(t, err)
		require.True(t, hit.Found, "a listed name finds itself")
	})
}
