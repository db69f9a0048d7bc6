package slip

import (
	"fmt"
	"image"
	"strings"

	"github.com/skip2/go-qrcode"

	"offrampbot/services/assets"
	"offrampbot/services/texts"
)

// The card of a deposit address, in pixels.
const (
	cardHeight = 1270
	qrTop      = 220
	qrEdge     = 630 // at most; the modules are whole pixels
)

// qr draws the card of a deposit address: what may be sent, the QR code of exactly this address, the address to compare,
// the networks, and what happens to anything else.
func (p *Pictures) qr(address string) (*canvas, error) {
	if _, err := assets.CanonicalAddress(address); err != nil {
		return nil, err
	}
	code, err := qrcode.New(address, qrcode.Medium)
	if err != nil {
		return nil, fmt.Errorf("make QR code: %w", err)
	}
	const lang = texts.Fallback
	var chains, tokens []string
	for _, c := range p.registry.Chains() {
		chains = append(chains, c.Name)
	}
	for _, a := range p.registry.Assets() {
		tokens = append(tokens, a.ID)
	}
	args := map[string]string{"assets": strings.Join(tokens, " or "), "chains": strings.Join(chains, ", ")}
	c := p.fonts.canvas(slipWidth, cardHeight)
	p.head(c, lang, "slip.qr.title")
	c.rounded(image.Rect(40, 160, slipWidth-40, cardHeight-40), 28, white)
	say := func(y int, text string, s style) {
		s.align, s.width = centre, slipWidth-2*slipMargin-40
		c.text(slipWidth/2, y, text, s)
	}
	say(226, p.texts.Render(lang, "slip.qr.send", args), style{weight: semiBold, size: 36, least: 24, colour: ink})
	modules(c, code.Bitmap())
	half := len(address) / 2
	say(qrTop+qrEdge+50, address[:half], style{weight: semiBold, size: 36, least: 24, colour: ink})
	say(qrTop+qrEdge+98, address[half:], style{weight: semiBold, size: 36, least: 24, colour: ink})
	say(qrTop+qrEdge+158, p.texts.Render(lang, "slip.qr.networks", args), style{size: 30, least: 20, colour: soft})
	c.rounded(image.Rect(80, cardHeight-230, slipWidth-80, cardHeight-80), 20, yellow)
	say(cardHeight-166, p.texts.Render(lang, "slip.qr.warning", args), style{weight: semiBold, size: 31, least: 20, colour: amber})
	say(cardHeight-118, p.texts.Render(lang, "slip.qr.lost", args), style{size: 26, least: 18, colour: amber})
	return c, nil
}

// modules draws the squares of a QR code, its quiet zone included, in whole pixels so that every reader sees them sharp.
func modules(c *canvas, bitmap [][]bool) {
	scale := qrEdge / len(bitmap)
	edge := scale * len(bitmap)
	at := image.Pt((slipWidth-edge)/2, qrTop+(qrEdge-edge)/2)
	for y, line := range bitmap {
		for x, dark := range line {
			if dark {
				c.fill(image.Rect(0, 0, scale, scale).Add(at).Add(image.Pt(x*scale, y*scale)), ink)
			}
		}
	}
}
