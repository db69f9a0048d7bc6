package slip

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// The colours of both pictures.
var (
	paper  = color.RGBA{0xF1, 0xF5, 0xF3, 0xFF}
	white  = color.RGBA{0xFF, 0xFF, 0xFF, 0xFF}
	ink    = color.RGBA{0x0F, 0x1F, 0x1A, 0xFF}
	soft   = color.RGBA{0x5E, 0x6E, 0x68, 0xFF}
	rule   = color.RGBA{0xDF, 0xE7, 0xE3, 0xFF}
	green  = color.RGBA{0x0A, 0x6E, 0x4F, 0xFF}
	pale   = color.RGBA{0xBF, 0xE5, 0xD6, 0xFF}
	amber  = color.RGBA{0x7A, 0x4B, 0x00, 0xFF}
	yellow = color.RGBA{0xFF, 0xF1, 0xD0, 0xFF}
)

// align says which edge of a text is at its x.
type align int

const (
	left align = iota
	centre
	right
)

// style is how one text is drawn: never wider than width pixels. It shrinks from size down to least, then it is cut.
type style struct {
	weight weight
	size   int
	least  int // 0: size
	width  int
	align  align
	colour color.RGBA
}

// canvas is one picture in the making. The first error stays and ends the picture.
type canvas struct {
	img   *image.RGBA
	fonts *fonts
	faces map[[2]int]font.Face
	drawn []string // every text as it was drawn, for tests
	err   error
}

func (f *fonts) canvas(width, height int) *canvas {
	c := &canvas{img: image.NewRGBA(image.Rect(0, 0, width, height)), fonts: f, faces: map[[2]int]font.Face{}}
	c.fill(c.img.Bounds(), paper)
	return c
}

func (c *canvas) fill(r image.Rectangle, with color.RGBA) {
	draw.Draw(c.img, r, image.NewUniform(with), image.Point{}, draw.Src)
}

// face is the font at a size in pixels.
func (c *canvas) face(w weight, size int) font.Face {
	key := [2]int{int(w), size}
	if f, ok := c.faces[key]; ok {
		return f
	}
	f, err := opentype.NewFace(c.fonts[w], &opentype.FaceOptions{Size: float64(size), DPI: 72, Hinting: font.HintingNone})
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("make font face: %w", err)
	}
	c.faces[key] = f
	return f
}

// text cleans a text and draws it with its baseline at y. It returns the x behind it.
func (c *canvas) text(x, y int, text string, s style) int {
	shown, face := c.fit(c.fonts.clean(text), s)
	if c.err != nil {
		return x
	}
	c.drawn = append(c.drawn, shown)
	width := font.MeasureString(face, shown)
	at := fixed.I(x)
	switch s.align {
	case centre:
		at -= width / 2
	case right:
		at -= width
	case left:
	}
	d := font.Drawer{Dst: c.img, Src: image.NewUniform(s.colour), Face: face, Dot: fixed.Point26_6{X: at, Y: fixed.I(y)}}
	d.DrawString(shown)
	return d.Dot.X.Ceil()
}

// fit finds the largest size at which a text has room, and cuts it with an ellipsis where the least size has none.
func (c *canvas) fit(text string, s style) (string, font.Face) {
	least := s.least
	if least == 0 {
		least = s.size
	}
	room := fixed.I(s.width)
	for size := s.size; size > least; size-- {
		face := c.face(s.weight, size)
		if c.err != nil || font.MeasureString(face, text) <= room {
			return text, face
		}
	}
	face := c.face(s.weight, least)
	if c.err != nil || font.MeasureString(face, text) <= room {
		return text, face
	}
	runes := []rune(text)
	for n := len(runes) - 1; n > 0; n-- {
		if short := string(runes[:n]) + cut; font.MeasureString(face, short) <= room {
			return short, face
		}
	}
	return cut, face
}

// point is a corner of a shape, in pixels.
type point struct{ x, y int }

// curve is how far the handles of a quarter circle lie from its ends, in thousandths of the radius.
const curve = 552

// rounded fills a rectangle with round corners.
func (c *canvas) rounded(r image.Rectangle, radius int, with color.RGBA) {
	z := vector.NewRasterizer(r.Dx(), r.Dy())
	e, b := r.Dx(), r.Dy()
	k := radius - radius*curve/1000
	z.MoveTo(float32(radius), 0)
	side := func(toX, toY, h1x, h1y, h2x, h2y, endX, endY int) {
		z.LineTo(float32(toX), float32(toY))
		z.CubeTo(float32(h1x), float32(h1y), float32(h2x), float32(h2y), float32(endX), float32(endY))
	}
	side(e-radius, 0, e-k, 0, e, k, e, radius)
	side(e, b-radius, e, b-k, e-k, b, e-radius, b)
	side(radius, b, k, b, 0, b-k, 0, b-radius)
	side(0, radius, 0, k, k, 0, radius, 0)
	z.ClosePath()
	z.Draw(c.img, r, image.NewUniform(with), image.Point{})
}

// shape fills a closed path of straight lines, whose corners are counted from the rectangle's.
func (c *canvas) shape(in image.Rectangle, with color.RGBA, path ...point) {
	z := vector.NewRasterizer(in.Dx(), in.Dy())
	for i, p := range path {
		if i == 0 {
			z.MoveTo(float32(p.x), float32(p.y))
			continue
		}
		z.LineTo(float32(p.x), float32(p.y))
	}
	z.ClosePath()
	z.Draw(c.img, in, image.NewUniform(with), image.Point{})
}

// png ends the picture.
func (c *canvas) png() ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.DefaultCompression}
	if err := encoder.Encode(&b, c.img); err != nil {
		return nil, fmt.Errorf("encode picture: %w", err)
	}
	return b.Bytes(), nil
}
