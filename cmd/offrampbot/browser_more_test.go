package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/sandbox"
)

// galleryDocuments are the Flows that show what the product's own Flows do not use.
func galleryDocuments(t *testing.T) []sandbox.FlowDocument {
	t.Helper()
	var out []sandbox.FlowDocument
	for _, name := range []string{"gallery_flow", "gallery_more"} {
		document, err := os.ReadFile("testdata/" + name + ".json")
		require.NoError(t, err)
		out = append(out, sandbox.FlowDocument{Name: name, JSON: document})
	}
	return out
}

// colouredPNG is a picture of one colour, as Flows carry pictures.
func colouredPNG(t *testing.T, c color.Color) string {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 160, 90))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, picture))
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// offerMore sends the Flow of the rarer components.
func (s *scene) offerMore() {
	s.t.Helper()
	green, blue := colouredPNG(s.t, color.RGBA{R: 38, G: 161, B: 123, A: 255}), colouredPNG(s.t, color.RGBA{R: 39, G: 117, B: 202, A: 255})
	s.interactive(map[string]any{
		"type": "flow", "body": map[string]any{"text": "Open the rest of the gallery"},
		"action": map[string]any{"name": "flow", "parameters": map[string]any{
			"flow_message_version": "3", "flow_name": "gallery_more", "flow_cta": "Open", "flow_token": "token-of-the-rest",
			"flow_action": "navigate", "flow_action_payload": map[string]any{"screen": "MORE", "data": map[string]any{
				"pictures": []any{map[string]any{"src": green, "alt-text": "Green"}, map[string]any{"src": blue, "alt-text": "Blue"}},
				"coins": []any{
					map[string]any{"id": "usdt", "title": "USDT", "description": "Tether", "image": green, "alt-text": "Green"},
					map[string]any{"id": "usdc", "title": "USDC", "description": "Circle", "image": blue, "alt-text": "Blue"},
				},
			}},
		}},
	})
}

// gives hands a file to a picker, as the system's own dialogue would.
func (b *browser) gives(picker, name, kind string, size int) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => { const field = document.querySelector(%q); const all = new DataTransfer();
		all.items.add(new File(["x".repeat(%d)], %q, {type: %q})); field.files = all.files;
		return field.dispatchEvent(new Event("change")); })()`, picker, size, name, kind), new(bool))
}

// TestPage_drawsTheRarerComponentsOfAFlow goes through carousel, calendar, pickers, links and lists, and compares what arrives.
func TestPage_drawsTheRarerComponentsOfAFlow(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.offerMore()
	b := newBrowser(t, 1400, 900)
	b.colours("light")
	s.open(b)
	at := func(name, part string) string {
		return fmt.Sprintf(`%s [data-name="%s"] %s`, pageScreen("MORE"), name, part)
	}
	b.tap(pageOffer)
	b.see(pageScreen("MORE") + " .carousel-image")
	require.Equal(t, 2, b.count(pageScreen("MORE")+" .carousel-image"))
	require.Equal(t, 2, b.count(at("coin", ".row-image")))
	require.Equal(t, 1, b.count(at("city", "label.large")))
	b.shot("more-1")

	b.tap(pageFooter("MORE"))
	require.Equal(t, "Please choose a day.", b.text(at("day", ".field-error")))
	require.Equal(t, "Please choose the first and the last day.", b.text(at("stay", ".field-error")))
	require.Equal(t, "At least 1 photo is needed.", b.text(at("photos", ".field-error")))
	var off int
	b.eval(fmt.Sprintf(`["2027-03-11", "2027-03-13"].filter((day) => document.querySelector(%q.replace("DAY", day)).disabled).length`,
		at("day", `[data-day="DAY"]`)), &off)
	require.Equal(t, 2, off, "a day that is taken and a Saturday cannot be chosen")
	b.tap(at("day", `[data-day="2027-03-10"]`))
	b.tap(at("stay", `[data-day="2027-03-29"]`))
	b.tap(at("stay", `[data-day="2027-03-30"]`))
	b.gives(at("photos", "input"), "too-large.png", "image/png", 2000)
	b.until("a file that is too large is refused", fmt.Sprintf(`document.querySelector(%q).textContent.includes("larger than 1 KB")`, at("photos", ".field-error")))
	b.gives(at("photos", "input"), "card.png", "image/png", 10)
	b.until("the photo is listed", fmt.Sprintf(`document.querySelectorAll(%q).length === 1`, at("photos", ".picked li")))
	b.tap(pageFooter("MORE"))
	require.Equal(t, "At least 3 days.", b.text(at("stay", ".field-error")))
	b.tap(at("stay", `[data-day="2027-03-29"]`))
	b.tap(at("stay", `[aria-label="The month after"]`))
	b.tap(at("stay", `[data-day="2027-04-02"]`))
	b.tap(at("coin", `label:nth-child(2) input`))
	b.everythingHasAName()
	b.shot("more-2")

	b.tap(pageScreen("MORE") + " .flow-link .link")
	b.until("the link leads on", fmt.Sprintf(`document.querySelector(%q)?.innerText.includes("The terms of this year")`, pageScreen("TERMS")))
	b.tap(pageScreen("TERMS") + " .layer-back")
	b.see(pageFooter("MORE"))
	require.Equal(t, 1, b.count(at("photos", ".picked li")), "what was chosen is still there after going back")
	b.tap(pageFooter("MORE"))
	b.see(pageScreen("TOPICS") + " .navigation .row")
	b.everythingHasAName()
	b.shot("more-3")
	b.tap(pageScreen("TOPICS") + ` .row[data-id="selling"]`)
	b.see(pageFooter("PAPERS"))
	require.Equal(t, "About selling", b.text(pageScreen("PAPERS")+" .is-TextBody"))
	b.gives(pageScreen("PAPERS")+` [data-name="papers"] input`, "statement.pdf", "application/pdf", 10)
	b.until("the document is listed", fmt.Sprintf(`document.querySelector(%q)`, pageScreen("PAPERS")+" .picked li"))
	b.tap(pageFooter("PAPERS"))
	b.tap(pageFooter("END"))
	s.arrives(`"response_json":`)
	got := s.response()
	photos, _ := got["photos"].([]any)
	require.Len(t, photos, 1)
	require.Equal(t, "card.png", photos[0].(map[string]any)["file_name"])
	require.NotEmpty(t, photos[0].(map[string]any)["sha256"])
	papers, _ := got["papers"].([]any)
	require.Equal(t, "application/pdf", papers[0].(map[string]any)["mime_type"])
	delete(got, "photos")
	delete(got, "papers")
	require.Equal(t, map[string]any{
		"topic": "selling", "coin": "usdc", "day": "2027-03-10", "stay": map[string]any{"start-date": "2027-03-29", "end-date": "2027-04-02"},
		"flow_token": "token-of-the-rest",
	}, got)
	require.Empty(t, b.console())
}
