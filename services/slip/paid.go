package slip

import (
	"context"
	"fmt"
	"image"
	"slices"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// paper sizes of the slip, in pixels.
const (
	slipWidth  = 900
	slipMargin = 64
	rowHeight  = 66
	tableTop   = 570
)

// sale is what a slip shows.
type sale struct {
	order *offramp.Order
	fiat  assets.Fiat
	chain assets.Chain
	zone  *time.Location
	lang  string
}

// slip draws the slip of a paid order.
func (p *Pictures) slip(ctx context.Context, order string) (*canvas, error) {
	s, err := p.load(ctx, order)
	if err != nil {
		return nil, err
	}
	return p.paint(s), nil
}

// load reads a paid order and what its slip needs beside it. The time is that of the user's country, or of the currency's
// where we pay none out there.
func (p *Pictures) load(ctx context.Context, id string) (s sale, err error) {
	var o offramp.Order
	var u user.User
	err = p.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		if err := r.Get(store.Orders, id, &o); err != nil {
			return fmt.Errorf("load order: %w", err)
		}
		if err := r.Get(store.Users, o.User, &u); err != nil {
			return fmt.Errorf("load user of order: %w", err)
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	if o.State != offramp.Success || o.EndedAt == nil {
		return s, fmt.Errorf("order in state %s: %w", o.State, ErrNotPaid)
	}
	s = sale{order: &o, lang: u.Language}
	var ok bool
	if s.fiat, ok = p.registry.Fiat(o.Fiat); !ok {
		return s, fmt.Errorf("currency %s is not in the registry", o.Fiat)
	}
	if s.chain, ok = p.registry.Chain(o.Chain); !ok {
		return s, fmt.Errorf("chain %s is not in the registry", o.Chain)
	}
	home := s.fiat
	if f, ok := p.registry.FiatOf(u.Country); ok {
		home = f
	}
	if s.zone, err = time.LoadLocation(home.Zone); err != nil {
		return s, fmt.Errorf("load time zone: %w", err)
	}
	return s, nil
}

// row is one line of the table.
type row struct{ label, value string }

// rows are the lines of the table in order. The account is masked; a bank that gave no session id has no line for it.
func (p *Pictures) rows(s sale) []row {
	o := s.order
	label := func(key string) string { return p.texts.Render(s.lang, "slip."+key, nil) }
	minor := func(m money.Minor) string { return money.FormatMinor(m, s.fiat.Exponent, s.fiat.Symbol) }
	out := []row{
		{label("recipient"), o.Beneficiary.Name},
		{label("bank"), o.Beneficiary.BankName},
		{label("account"), "•••••• " + o.Beneficiary.Last4},
		{label("sold"), p.texts.Render(s.lang, "slip.sold.value", map[string]string{
			"amount": money.FormatMicro(o.Amount), "asset": o.Asset, "chain": s.chain.Name,
		})},
		{label("rate"), p.texts.Render(s.lang, "slip.rate.value", map[string]string{
			"price": o.Rate.Price(s.fiat.Exponent, s.fiat.Symbol), "asset": o.Asset,
		})},
		{label("fee"), minor(o.Fee)},
		{label("reference"), o.Reference},
	}
	paid := slices.IndexFunc(o.Attempts, func(a offramp.Attempt) bool { return a.N == o.Paid })
	if paid >= 0 && o.Attempts[paid].SessionID != "" {
		out = append(out, row{label("session"), o.Attempts[paid].SessionID})
	}
	return append(out, row{label("date"), o.EndedAt.In(s.zone).Format("2 Jan 2006, 15:04 MST")})
}

// paint lays the slip out: product and title, the sign that it is paid, the net amount, the table, a last line.
func (p *Pictures) paint(s sale) *canvas {
	rows := p.rows(s)
	height := tableTop + rowHeight*len(rows) + 104
	c := p.fonts.canvas(slipWidth, height)
	p.head(c, s.lang, "slip.title")
	c.rounded(image.Rect(40, 160, slipWidth-40, height-88), 28, white)
	tick(c, slipWidth/2, 244)
	middle := style{width: slipWidth - 2*slipMargin, align: centre}
	say := func(y int, text string, size, least int, s style) {
		s.size, s.least = size, least
		c.text(slipWidth/2, y, text, s)
	}
	middle.weight, middle.colour = semiBold, green
	say(348, p.texts.Render(s.lang, "slip.paid", nil), 40, 28, middle)
	middle.colour = ink
	say(456, money.FormatMinor(s.order.Net, s.fiat.Exponent, s.fiat.Symbol), 92, 40, middle)
	for i, r := range rows {
		y := tableTop + rowHeight*i
		c.fill(image.Rect(slipMargin+16, y-rowHeight+22, slipWidth-slipMargin-16, y-rowHeight+24), rule)
		end := c.text(slipMargin+16, y, r.label, style{size: 29, least: 22, width: 250, colour: soft})
		c.text(slipWidth-slipMargin-16, y, r.value, style{
			weight: semiBold, size: 29, least: 21, width: slipWidth - slipMargin - 16 - end - 24, align: right, colour: ink,
		})
	}
	middle.weight, middle.colour = regular, soft
	say(height-36, p.texts.Render(s.lang, "slip.footer", nil), 25, 18, middle)
	return c
}

// head draws the band with the product's name and what the picture is.
func (p *Pictures) head(c *canvas, lang, title string) {
	c.fill(image.Rect(0, 0, slipWidth, 120), green)
	end := c.text(slipMargin, 76, p.texts.Render(lang, "slip.product", nil), style{
		weight: semiBold, size: 44, least: 30, width: 420, colour: white,
	})
	c.text(slipWidth-slipMargin, 76, p.texts.Render(lang, title, nil), style{
		size: 30, least: 22, width: slipWidth - slipMargin - end - 24, align: right, colour: pale,
	})
}

// tick draws the mark of a finished payout: a disc with a check in it.
func tick(c *canvas, x, y int) {
	const r = 44
	disc := image.Rect(x-r, y-r, x+r, y+r)
	c.rounded(disc, r, green)
	c.shape(disc, white, point{22, 45}, point{29, 38}, point{39, 48}, point{59, 28}, point{66, 35}, point{39, 62})
}
