package slip

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/assets"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/texts"
	"offrampbot/services/user"
)

const anAddress = "0x52908400098527886e0f7030069857d2e4169ee7"

// maxBytes is what a picture may weigh: it travels over slow mobile networks.
const maxBytes = 200 << 10

func paidOrder() *offramp.Order {
	ended := time.Date(2026, time.June, 3, 12, 4, 9, 0, time.UTC)
	o := &offramp.Order{
		Reference: "K7Q2M9XAB", User: "u1", State: offramp.Success, Asset: "USDT", Chain: "base", Amount: 25_000_000, Fiat: "NGN",
		Rate: money.Rate{Num: 150_000, Den: 1_000_000}, Gross: 3_750_000, Fee: 12_345, Net: 3_737_655,
		Beneficiary: quote.Beneficiary{BankName: "Guaranty Trust Bank", Last4: "6789", Name: "ADAEZE NGOZI OBI"},
		Attempt:     2, Paid: 2, Attempts: []offramp.Attempt{
			{N: 1, State: offramp.AttemptFailed, SessionID: "000000000000000000000000000000"},
			{N: 2, State: offramp.AttemptPaid, SessionID: "090267210603130409123456789012"},
		},
		EndedAt: &ended, CreatedAt: ended,
	}
	o.ID, o.Version = "order-1", 1
	return o
}

// shop has one person and this order in a store.
func shop(t *testing.T, engine store.Engine, o *offramp.Order, country string) *Pictures {
	t.Helper()
	catalogue, err := texts.Load()
	require.NoError(t, err)
	p, err := New(engine, assets.Sandbox(), catalogue)
	require.NoError(t, err)
	u := &user.User{WhatsAppID: "2348030000000", Name: "Ada", Country: country, Language: "en", Status: user.Active}
	u.ID, u.Version = "u1", 1
	require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		if err := tx.Insert(store.Users, u); err != nil {
			return err
		}
		return tx.Insert(store.Orders, o)
	}))
	return p
}

func decoded(t *testing.T, picture []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	return img
}

// golden compares pictures by their pixels: another release of the compressor may write the same picture in other bytes.
func golden(t *testing.T, name string, picture []byte) {
	t.Helper()
	old, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil && samePixels(decoded(t, old), decoded(t, picture)) {
		return
	}
	if testkit.Updating() {
		testkit.Golden(t, name, picture)
		return
	}
	require.NoError(t, err, "make the golden file with -update")
	require.Fail(t, "the picture differs from testdata/"+name)
}

func samePixels(a, b image.Image) bool {
	if a.Bounds() != b.Bounds() {
		return false
	}
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				return false
			}
		}
	}
	return true
}

func indexes() []store.Index { return slices.Concat(offramp.Indexes, user.Indexes) }

func TestSlip_goldenOfAPaidOrder(t *testing.T) {
	t.Parallel()
	picture, _, err := shop(t, testkit.Bolt(t, indexes()), paidOrder(), "NG").Render(t.Context(), "slip", "order-1")
	require.NoError(t, err)
	golden(t, "slip.png", picture)
}

func TestSlip_ofAPaidOrderShowsEverything(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		p := shop(t, engine, paidOrder(), "NG")
		picture, mime, err := p.Render(t.Context(), "slip", "order-1")
		require.NoError(t, err)
		require.Equal(t, "image/png", mime)
		require.Less(t, len(picture), maxBytes)
		golden(t, "slip.png", picture)
		again, _, err := p.Render(t.Context(), "slip", "order-1")
		require.NoError(t, err)
		require.Equal(t, picture, again, "the same order gives the same bytes")

		c, err := p.slip(t.Context(), "order-1")
		require.NoError(t, err)
		shown := strings.Join(c.drawn, "\n")
		for _, want := range []string{
			"Offramp", "Paid", "₦37,376.55", "ADAEZE NGOZI OBI", "Guaranty Trust Bank", "•••••• 6789", "25 USDT on Base",
			"₦1,500.00 per USDT", "₦123.45", "K7Q2M9XAB", "090267210603130409123456789012", "3 Jun 2026, 13:04 WAT",
		} {
			require.Contains(t, shown, want)
		}
	})
}

func TestSlip_isOnlyDrawnOfAPaidOrder(t *testing.T) {
	t.Parallel()
	for _, state := range []offramp.State{
		offramp.Waiting, offramp.Deposit, offramp.Overdue, offramp.Exchange, offramp.Sending, offramp.Unclear, offramp.Review,
		offramp.Failed, offramp.Returned, offramp.Cancelled,
	} {
		o := paidOrder()
		o.State = state
		_, _, err := shop(t, testkit.Bolt(t, nil), o, "NG").Render(t.Context(), "slip", o.ID)
		require.ErrorIs(t, err, ErrNotPaid, string(state))
	}
}

func TestRender_refusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	p := shop(t, testkit.Bolt(t, nil), paidOrder(), "NG")
	_, _, err := p.Render(t.Context(), "slip", "order-2")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, _, err = p.Render(t.Context(), "passport", "order-1")
	require.ErrorIs(t, err, ErrKind)
	for _, change := range []func(*offramp.Order){
		func(o *offramp.Order) { o.Fiat = "USD" }, func(o *offramp.Order) { o.Chain = "solana" }, func(o *offramp.Order) { o.User = "u2" },
	} {
		o := paidOrder()
		change(o)
		_, _, err := shop(t, testkit.Bolt(t, nil), o, "NG").Render(t.Context(), "slip", "order-1")
		require.Error(t, err)
	}
}

func TestNew_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	catalogue, err := texts.Load()
	require.NoError(t, err)
	engine := testkit.Bolt(t, nil)
	_, err = New(nil, assets.Sandbox(), catalogue)
	require.ErrorContains(t, err, "engine")
	_, err = New(engine, nil, catalogue)
	require.ErrorContains(t, err, "registry")
	_, err = New(engine, assets.Sandbox(), nil)
	require.ErrorContains(t, err, "texts")
	require.Contains(t, FontLicence(), "SIL OPEN FONT LICENSE Version 1.1")
}

func TestSlip_withoutASessionHasNoLineForIt(t *testing.T) {
	t.Parallel()
	o := paidOrder()
	o.Attempts[1].SessionID = ""
	p := shop(t, testkit.Bolt(t, nil), o, "GB")
	c, err := p.slip(t.Context(), o.ID)
	require.NoError(t, err)
	require.NotContains(t, c.drawn, "Bank session ID")
	require.NotContains(t, strings.Join(c.drawn, " "), "00000000", "the session of an attempt that failed is nobody's proof")
	require.Contains(t, c.drawn, "3 Jun 2026, 13:04 WAT", "a country that is not paid out in has the currency's time")
}

func TestSlip_goldenOfLongAndHostileTexts(t *testing.T) {
	t.Parallel()
	hostile := "\x00\x1b[31mEVE\r\n\u202eLVE\u200b\u0300\u0300 " + strings.Repeat("WWWW mmmm ", 100) + "\xff\xfe"
	plain, odd := paidOrder(), paidOrder()
	odd.Beneficiary.Name, odd.Beneficiary.BankName = hostile, strings.Repeat("W", 5000)
	odd.Reference, odd.Attempts[1].SessionID = strings.Repeat("8", 300), strings.Repeat("9", 300)
	odd.Beneficiary.Last4 = "李雷\n12"
	odd.Net, odd.Fee, odd.Amount = 1<<62, 1<<61, 1<<60
	odd.Rate = money.Rate{Num: 1 << 62, Den: 3}
	pp, po := shop(t, testkit.Bolt(t, nil), plain, "NG"), shop(t, testkit.Bolt(t, nil), odd, "NG")
	picture, _, err := po.Render(t.Context(), "slip", odd.ID)
	require.NoError(t, err)
	golden(t, "slip_long.png", picture)
	want, _, err := pp.Render(t.Context(), "slip", plain.ID)
	require.NoError(t, err)
	a, b := decoded(t, want), decoded(t, picture)
	require.Equal(t, a.Bounds(), b.Bounds())
	for y := range a.Bounds().Max.Y {
		for x := range a.Bounds().Max.X {
			if (x < slipMargin || x >= slipWidth-slipMargin) && a.At(x, y) != b.At(x, y) {
				require.Fail(t, "something is drawn in the margin", "at %d,%d", x, y)
			}
		}
	}
	c, err := po.slip(t.Context(), odd.ID)
	require.NoError(t, err)
	for _, text := range c.drawn {
		require.NotRegexp(t, `[\x00-\x1f\x{200b}\x{202e}\x{0300}]`, text)
	}
	require.Contains(t, c.drawn, "•••••• ?? 12")
}

func TestClean_leavesOneDrawableLine(t *testing.T) {
	t.Parallel()
	f, err := parseFonts()
	require.NoError(t, err)
	tests := []struct{ name, in, want string }{
		{"letters, marks and signs of the font stay", "Ọlá ₦₵€£ é → ✓ Ñandú", "Ọlá ₦₵€£ é → ✓ Ñandú"},
		{"a decomposed letter is composed", "e\u0301", "é"},
		{"spaces and line feeds become one space", "  a \t\r\n\v b\u00a0\u2003 ", "a b"},
		{"control and formatting characters go", "a\x00\x07\u200b\u202e\u2066b\u00ad\ufeff", "ab"},
		{"what the font has no picture of is shown as missing", "Ada 😀 李", "Ada ? ?"},
		{"nothing is a dash", "\x00 \u200b", "–"},
		{"broken encoding is dropped", "a\xff\xc3b", "ab"},
		{"a long text is not looked at to its end", strings.Repeat("a", 500), strings.Repeat("a", maxRunes)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, f.clean(tt.in))
		})
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "Ada Obi", "\x00\u202e\u0300", "李雷 😀", "\xff", strings.Repeat("\u0301", 300)} {
		f.Add(seed)
	}
	parsed, err := parseFonts()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		got := parsed.clean(text)
		require.NotEmpty(t, got)
		require.LessOrEqual(t, len([]rune(got)), maxRunes+1)
		require.Equal(t, got, parsed.clean(got), "clean is clean")
		c := parsed.canvas(300, 60)
		end := c.text(10, 40, text, style{size: 30, least: 20, width: 200})
		require.NoError(t, c.err)
		require.LessOrEqual(t, end, 211)
	})
}

func TestRender_drawsForManyAtOnce(t *testing.T) {
	t.Parallel()
	p := shop(t, testkit.Bolt(t, nil), paidOrder(), "NG")
	want, _, err := p.Render(t.Context(), "slip", "order-1")
	require.NoError(t, err)
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			got, _, err := p.Render(t.Context(), "slip", "order-1")
			if err == nil && !bytes.Equal(want, got) {
				err = errors.New("another picture")
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
}

func BenchmarkSlip(b *testing.B) {
	catalogue, err := texts.Load()
	require.NoError(b, err)
	p, err := New(testkit.Bolt(b, nil), assets.Sandbox(), catalogue)
	require.NoError(b, err)
	fiat, _ := p.registry.Fiat("NGN")
	chain, _ := p.registry.Chain("base")
	for b.Loop() {
		_, err := p.paint(sale{order: paidOrder(), fiat: fiat, chain: chain, zone: time.UTC, lang: "en"}).png()
		require.NoError(b, err)
	}
}
