package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

const (
	chromiumPath = "/usr/bin/chromium"
	// humanPace is the pause before every tap: nobody is faster, and a sheet has arrived by then.
	humanPace = 300 * time.Millisecond
	// browserPatience is how long a page may take to show something.
	browserPatience = 25 * time.Second
	// shotsVariable names a folder; when it is set, the tests write their pictures of the page there.
	shotsVariable = "PAGE_SHOTS"
)

// browser is a headless Chromium with one page, driven as a person would: by what can be seen and tapped.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // errors and warnings of the console
}

// newBrowser starts a Chromium with a profile of its own. Without one the test is skipped, but with CI=true it fails.
func newBrowser(t *testing.T, width, height int64) *browser {
	t.Helper()
	if _, err := os.Stat(chromiumPath); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not there: install Debian's chromium", chromiumPath)
		}
		t.Skipf("%s is not there: install Debian's chromium", chromiumPath)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromiumPath), chromedp.UserDataDir(t.TempDir()), chromedp.Flag("headless", "new"),
	}
	for _, name := range []string{
		"no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
		"disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...) // ends after the test's own context
	ctx, stop := chromedp.NewContext(allocator)
	b := &browser{t: t, ctx: ctx}
	t.Cleanup(func() {
		if t.Failed() {
			b.shot("failed")
		}
		stop()
		stopAllocator()
	})
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if kind := string(m.Type); kind != "debug" && kind != "info" && kind != "log" {
				b.mu.Lock()
				b.problems = append(b.problems, fmt.Sprintf("%s: %s (%s:%d)", kind, m.Text, m.URL, m.Line))
				b.mu.Unlock()
			}
		}
	}()
	b.size(width, height)
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, steps...))
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

func (b *browser) size(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// colours makes the system light or dark.
func (b *browser) colours(scheme string) {
	b.t.Helper()
	b.media("prefers-color-scheme", scheme)
}

// media sets one feature of the system and forgets the others.
func (b *browser) media(feature, value string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: feature, Value: value}},
	})
	require.NoError(b.t, err)
}

// eval runs an expression in the page and reads its value into out.
func (b *browser) eval(expression string, out any) {
	b.t.Helper()
	raw, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]byte](expression))
	require.NoError(b.t, err, expression)
	require.NoError(b.t, json.Unmarshal(raw, out), expression)
}

// until waits until an expression is true; why says what the test waits for.
func (b *browser) until(why, expression string) {
	b.t.Helper()
	var is bool
	for end := time.Now().Add(browserPatience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if b.eval("Boolean("+expression+")", &is); is {
			return
		}
	}
	b.t.Fatalf("waited in vain until %s; the page says: %s; its console: %s", why, b.text("body"), strings.Join(b.console(), "\n"))
}

// hits is an expression for the last element of a selector that a finger would reach: seen, not behind anything, not
// inert and not switched off.
func hits(selector string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].findLast((n) => {
		n.scrollIntoView({block: "nearest"});
		const box = n.getBoundingClientRect();
		const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
		return box.width > 0 && top !== null && (n.contains(top) || top.contains(n)) && n.closest("[inert]") === null && !n.disabled;
	})`, selector)
}

// see waits until something can be reached.
func (b *browser) see(selector string) {
	b.t.Helper()
	b.until(selector+" can be reached", hits(selector))
}

// tap taps the last element of a selector, with the mouse, at human pace.
func (b *browser) tap(selector string) {
	b.t.Helper()
	b.see(selector)
	time.Sleep(humanPace)
	var at struct{ X, Y float64 }
	b.eval(fmt.Sprintf(`(() => { const box = %s.getBoundingClientRect();
		return {X: box.left + box.width / 2, Y: box.top + box.height / 2}; })()`, hits(selector)), &at)
	b.do(chromedp.MouseClickXY(at.X, at.Y))
}

// fill taps an input and types into it, after what stands there.
func (b *browser) fill(selector, text string) {
	b.t.Helper()
	b.tap(selector)
	b.do(chromedp.KeyEvent(text))
}

// press presses one key: kb.Escape, kb.Tab, kb.Enter …
func (b *browser) press(key string) {
	b.t.Helper()
	time.Sleep(humanPace)
	b.do(chromedp.KeyEvent(key))
}

// text returns what the last element of a selector says.
func (b *browser) text(selector string) string {
	b.t.Helper()
	var out string
	b.eval(fmt.Sprintf(`[...document.querySelectorAll(%q)].at(-1)?.innerText ?? ""`, selector), &out)
	return out
}

// count returns how many elements a selector has.
func (b *browser) count(selector string) int {
	b.t.Helper()
	var out int
	b.eval(fmt.Sprintf(`document.querySelectorAll(%q).length`, selector), &out)
	return out
}

// console returns what the page complained about so far.
func (b *browser) console() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.problems...)
}

// everythingHasAName fails when something that can be used has no name for people who hear the page.
func (b *browser) everythingHasAName() {
	b.t.Helper()
	var nameless []string
	b.eval(`[...document.querySelectorAll("button, a[href], input, select, textarea, [role=dialog], img")]
		.filter((n) => n.getClientRects().length > 0 && !(n.textContent.trim() || n.getAttribute("aria-label") || n.labels?.length > 0 ||
			n.getAttribute("aria-labelledby") || n.hasAttribute("alt")))
		.map((n) => n.outerHTML.slice(0, 200))`, &nameless)
	require.Empty(b.t, nameless)
}

// picturesVariable names a folder; when it is set, the tests write the pictures of the documentation there: docs/img.
const picturesVariable = "PAGE_PICTURES"

// picture writes a picture of a part of the page for the documentation, when somebody asked for them: with a palette, since
// the repository keeps them.
func (b *browser) picture(name, selector string) {
	b.t.Helper()
	folder := os.Getenv(picturesVariable)
	if folder == "" {
		return
	}
	time.Sleep(2 * humanPace) // animations end
	var box page.Viewport
	b.eval(fmt.Sprintf(`(() => { const box = document.querySelector(%q).getBoundingClientRect();
		return {x: box.left, y: box.top, width: box.width, height: box.height, scale: 1}; })()`, selector), &box)
	shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng, Clip: &box})
	require.NoError(b.t, err)
	full, err := png.Decode(bytes.NewReader(shot.Data))
	require.NoError(b.t, err)
	var out bytes.Buffer
	require.NoError(b.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, withPalette(full)))
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), out.Bytes(), 0o644)) //nolint:gosec // for everybody to read
}

// withPalette redraws a picture with its 256 most frequent colours: pages are flat, so nobody sees the difference.
func withPalette(full image.Image) image.Image {
	seen := map[color.RGBA]int{}
	box := full.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			seen[coarse(full.At(x, y))]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(seen), func(a, b color.RGBA) int { return cmp.Compare(seen[b], seen[a]) })
	palette := color.Palette{}
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	out := image.NewPaletted(box, palette)
	known := map[color.RGBA]uint8{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := coarse(full.At(x, y))
			at, ok := known[c]
			if !ok {
				at = uint8(palette.Index(c)) //nolint:gosec // at most 256 colours
				known[c] = at
			}
			out.SetColorIndex(x, y, at)
		}
	}
	return out
}

// coarse leaves out what the eye does not see of a colour.
func coarse(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{R: uint8(r>>8) | 3, G: uint8(g>>8) | 3, B: uint8(b>>8) | 3, A: 255} //nolint:gosec // cut to bytes on purpose
}

// shot writes a picture of the page, when somebody asked for pictures.
func (b *browser) shot(name string) {
	folder := os.Getenv(shotsVariable)
	if folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	time.Sleep(humanPace) // animations end
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600)
	}
	if err != nil {
		b.t.Log("no picture: ", err)
	}
}

// keyTab presses Tab at once, reload loads the page again.
var (
	keyTab = chromedp.KeyEvent(kb.Tab)
	reload = chromedp.Reload()
)
