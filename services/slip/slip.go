package slip

import (
	"context"
	"errors"
	"fmt"

	"offrampbot/services/assets"
	"offrampbot/services/store"
)

// The kinds of pictures.
const (
	KindSlip = "slip" // of an order id
	KindQR   = "qr"   // of a deposit address
)

var (
	// ErrNotPaid: the order is not paid, or not any more, so there is nothing to prove. A slip is never drawn early.
	ErrNotPaid = errors.New("order is not paid")
	// ErrKind: no picture has this name.
	ErrKind = errors.New("kind of picture is not known")
)

// Texts is the catalogue of messages. Render never fails.
type Texts interface {
	Render(language, key string, args map[string]string) string
}

// Pictures draws what messages name. It holds no state and may be used by many goroutines.
type Pictures struct {
	engine   store.Engine
	registry *assets.Registry
	texts    Texts
	fonts    *fonts
}

// New returns the painter.
func New(engine store.Engine, registry *assets.Registry, texts Texts) (*Pictures, error) {
	switch {
	case engine == nil:
		return nil, errors.New("pictures: engine is required")
	case registry == nil:
		return nil, errors.New("pictures: registry is required")
	case texts == nil:
		return nil, errors.New("pictures: texts are required")
	}
	f, err := parseFonts()
	if err != nil {
		return nil, err
	}
	return &Pictures{engine, registry, texts, f}, nil
}

// Render draws a picture: kind "slip" of an order id, "qr" of an EVM address. It only reads and may be repeated; the same
// facts give the same bytes. Errors: ErrNotPaid, store.ErrNotFound, assets.ErrAddress, ErrKind, the store's.
func (p *Pictures) Render(ctx context.Context, kind, value string) (png []byte, mime string, err error) {
	var c *canvas
	switch kind {
	case KindSlip:
		c, err = p.slip(ctx, value)
	case KindQR:
		c, err = p.qr(value)
	default:
		err = fmt.Errorf("%q: %w", kind, ErrKind)
	}
	if err == nil {
		png, err = c.png()
	}
	if err != nil {
		return nil, "", fmt.Errorf("draw picture: %w", err)
	}
	return png, "image/png", nil
}
