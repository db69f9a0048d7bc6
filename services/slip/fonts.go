package slip

import (
	_ "embed" // the fonts
	"fmt"

	"golang.org/x/image/font/sfnt"
)

// Inter has what Go's built-in font lacks: ₦ ₵ € £ ₿ → ✓. Its licence, the SIL Open Font License 1.1, travels with it.
var (
	//go:embed fonts/Inter-Regular.ttf
	interRegular []byte
	//go:embed fonts/Inter-SemiBold.ttf
	interSemiBold []byte
	//go:embed fonts/OFL.txt
	openFontLicence string
)

// FontLicence is the licence of the embedded font, which whoever passes the font on must pass on too.
func FontLicence() string { return openFontLicence }

// weight is how heavy a text is drawn.
type weight int

const (
	regular weight = iota
	semiBold
)

// fonts are the parsed fonts; they may be used by many goroutines, each with its own buffer.
type fonts [2]*sfnt.Font

func parseFonts() (*fonts, error) {
	var out fonts
	for w, data := range map[weight][]byte{regular: interRegular, semiBold: interSemiBold} {
		f, err := sfnt.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("parse font: %w", err)
		}
		out[w] = f
	}
	return &out, nil
}

// draws reports whether the font has a picture of its own for a rune.
func (f *fonts) draws(r rune) bool {
	var buf sfnt.Buffer
	i, err := f[regular].GlyphIndex(&buf, r)
	return err == nil && i != 0
}
