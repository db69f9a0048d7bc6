package slip

import (
	"image"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/testkit"
	"offrampbot/services/texts"
)

func painter(t *testing.T) *Pictures {
	t.Helper()
	catalogue, err := texts.Load()
	require.NoError(t, err)
	p, err := New(testkit.Bolt(t, nil), assets.Sandbox(), catalogue)
	require.NoError(t, err)
	return p
}

func TestQR_cardIsReadByAnotherImplementation(t *testing.T) {
	t.Parallel()
	p := painter(t)
	for _, address := range []string{anAddress, assets.ChecksumAddress(anAddress), "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359"} {
		picture, mime, err := p.Render(t.Context(), "qr", address)
		require.NoError(t, err)
		require.Equal(t, "image/png", mime)
		require.Less(t, len(picture), maxBytes)
		require.Equal(t, address, readQR(t, sampleQR(t, decoded(t, picture))))
	}
}

func TestQR_goldenCardSaysWhatMayBeSentWhere(t *testing.T) {
	t.Parallel()
	p := painter(t)
	picture, _, err := p.Render(t.Context(), "qr", anAddress)
	require.NoError(t, err)
	golden(t, "qr.png", picture)
	c, err := p.qr(anAddress)
	require.NoError(t, err)
	require.Equal(t, []string{
		"Offramp", "Deposit address", "Send USDT or USDC to this address", anAddress[:21], anAddress[21:],
		"Networks: Base, BNB Chain, Polygon", "Only USDT or USDC on these networks", "Anything else may be lost.",
	}, c.drawn)
}

func TestQR_isOnlyDrawnOfAnAddress(t *testing.T) {
	t.Parallel()
	p := painter(t)
	for _, no := range []string{"", "0x", "hello", anAddress + "0", "https://evil.example/" + anAddress, strings.Repeat("x", 5000)} {
		_, _, err := p.Render(t.Context(), "qr", no)
		require.ErrorIs(t, err, assets.ErrAddress)
	}
}

// sampleQR finds the code in a picture by its first finder pattern and reads its modules. A code of version 3 has 29.
func sampleQR(t *testing.T, img image.Image) [][]bool {
	t.Helper()
	dark := func(x, y int) bool {
		r, g, b, _ := img.At(x, y).RGBA()
		return r+g+b < 3*0x5000
	}
	const modules = 29
	b := img.Bounds()
	for y := 240; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if !dark(x, y) {
				continue
			}
			run := 0
			for dark(x+run, y) {
				run++
			}
			if run%7 != 0 {
				continue
			}
			scale := run / 7
			out := make([][]bool, modules)
			for j := range out {
				out[j] = make([]bool, modules)
				for i := range out[j] {
					out[j][i] = dark(x+i*scale+scale/2, y+j*scale+scale/2)
				}
			}
			return out
		}
	}
	require.Fail(t, "no QR code in the picture")
	return nil
}

// readQR reads a code of version 3 and level M or L, without repairing anything: written from the standard, it shares
// nothing with the library that draws.
func readQR(t *testing.T, m [][]bool) string {
	t.Helper()
	bits := readZigzag(m, formatOf(t, m))
	take := func(n int) (v int) {
		for range n {
			v = v<<1 | bits[0]
			bits = bits[1:]
		}
		return v
	}
	var out strings.Builder
	for {
		switch mode := take(4); mode {
		case 4: // bytes
			for n := take(8); n > 0; n-- {
				out.WriteByte(byte(take(8)))
			}
		case 2: // letters and digits
			const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
			n := take(9)
			for ; n > 1; n -= 2 {
				pair := take(11)
				out.WriteByte(alphabet[pair/45])
				out.WriteByte(alphabet[pair%45])
			}
			if n == 1 {
				out.WriteByte(alphabet[take(6)])
			}
		case 1: // digits
			n := take(10)
			for _, step := range []struct{ digits, bits int }{{3, 10}, {2, 7}, {1, 4}} {
				for n >= step.digits {
					v := take(step.bits)
					for d := step.digits - 1; d >= 0; d-- {
						out.WriteByte(byte('0' + v/[]int{1, 10, 100}[d]%10))
					}
					n -= step.digits
				}
			}
		case 0:
			return out.String()
		default:
			require.Fail(t, "unknown mode", "%d", mode)
		}
	}
}

// formatOf reads the mask from the format bits beside the first finder pattern.
func formatOf(t *testing.T, m [][]bool) (mask int) {
	t.Helper()
	bits := 0
	for _, at := range []image.Point{{0, 8}, {1, 8}, {2, 8}, {3, 8}, {4, 8}} { // the five that carry level and mask
		bits <<= 1
		if m[at.Y][at.X] {
			bits |= 1
		}
	}
	bits ^= 0b10101
	require.Equal(t, 0, bits>>3, "error correction level M")
	return bits & 7
}

// readZigzag reads the data bits in the standard's order and takes the mask off.
func readZigzag(m [][]bool, mask int) []int {
	n := len(m)
	var bits []int
	up := true
	for x := n - 1; x > 0; x -= 2 {
		if x == 6 {
			x--
		}
		for i := range n {
			y := i
			if up {
				y = n - 1 - i
			}
			for _, xx := range []int{x, x - 1} {
				if reserved(n, xx, y) {
					continue
				}
				bit := 0
				if m[y][xx] != masked(mask, xx, y) {
					bit = 1
				}
				bits = append(bits, bit)
			}
		}
		up = !up
	}
	return bits
}

// reserved reports whether a module carries no data: finders with their format bits, timing lines, the alignment square.
func reserved(n, x, y int) bool {
	switch {
	case x < 9 && y < 9, x >= n-8 && y < 9, x < 9 && y >= n-8, x == 6, y == 6:
		return true
	}
	const at = 22 // centre of the only alignment square of version 3
	return x >= at-2 && x <= at+2 && y >= at-2 && y <= at+2
}

func masked(mask, x, y int) bool {
	switch mask {
	case 0:
		return (x+y)%2 == 0
	case 1:
		return y%2 == 0
	case 2:
		return x%3 == 0
	case 3:
		return (x+y)%3 == 0
	case 4:
		return (y/2+x/3)%2 == 0
	case 5:
		return x*y%2+x*y%3 == 0
	case 6:
		return (x*y%2+x*y%3)%2 == 0
	default:
		return ((x+y)%2+x*y%3)%2 == 0
	}
}
