package limits

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/money"
)

// Sale is what is about to be placed, funded or renewed. Its own entry, if any, is left out of the sums.
type Sale struct {
	Order       string
	Fiat        string
	Minor       money.Minor
	Beneficiary string
	// BeneficiarySince is when the beneficiary was saved; the zero time is a new one.
	BeneficiarySince time.Time
}

// Check says whether the tier allows the sale now: nil, or a fault of code limit_sale, limit_day, limit_month or
// limit_new_beneficiary with args `limit` and `left` in minor units and `fiat`. A sale in one fiat also uses up the
// limits of the others, in proportion, so that a limit cannot be split over currencies (E11). A fiat without limits and
// an amount that is not positive are refused as limit_sale.
func Check(d *Doc, tier assets.Tier, s Sale, now time.Time) error {
	lim, ok := tier.Limits[s.Fiat]
	if !ok || s.Minor <= 0 {
		return over("limit_sale", s.Fiat, 0, 0)
	}
	used := use(d, tier, s.Fiat, lim, s.Order, now)
	switch {
	case s.Minor > lim.SaleMinor:
		return over("limit_sale", s.Fiat, lim.SaleMinor, lim.SaleMinor)
	case s.Minor > less(lim.DayMinor, used.day):
		return over("limit_day", s.Fiat, lim.DayMinor, less(lim.DayMinor, used.day))
	case s.Minor > less(lim.MonthMinor, used.month):
		return over("limit_month", s.Fiat, lim.MonthMinor, less(lim.MonthMinor, used.month))
	}
	if now.Sub(s.BeneficiarySince) < Day || s.BeneficiarySince.IsZero() {
		left := less(lim.NewBeneficiaryMinor, toBeneficiary(d, s, now))
		if s.Minor > left {
			return over("limit_new_beneficiary", s.Fiat, lim.NewBeneficiaryMinor, left)
		}
	}
	return nil
}

// Room is what a user may still sell in one fiat, in minor units.
type Room struct {
	Sale  money.Minor // the most that one sale may be now
	Day   money.Minor
	Month money.Minor
}

// Left is the room of a user now; a fiat without limits has none.
func Left(d *Doc, tier assets.Tier, fiat string, now time.Time) Room {
	lim, ok := tier.Limits[fiat]
	if !ok {
		return Room{}
	}
	used := use(d, tier, fiat, lim, "", now)
	room := Room{Day: less(lim.DayMinor, used.day), Month: less(lim.MonthMinor, used.month)}
	room.Sale = min(lim.SaleMinor, room.Day, room.Month)
	return room
}

// SetOpen notes an order as the user's one unfunded order of an asset; fault code unfunded_exists (arg order) when
// another one is. The same order again is fine.
func SetOpen(d *Doc, asset, order string) error {
	if other, ok := d.Open[asset]; ok && other != order {
		return fault.New("unfunded_exists", fmt.Errorf("order %s is unfunded in %s", other, asset)).With("order", other)
	}
	if d.Open == nil {
		d.Open = map[string]string{}
	}
	d.Open[asset] = order
	return nil
}

// ClearOpen forgets the unfunded order of an asset, if it is this one: it was funded or cancelled.
func ClearOpen(d *Doc, asset, order string) {
	if d.Open[asset] == order {
		delete(d.Open, asset)
	}
}

// usage is what counts in each window, in minor units of one fiat.
type usage struct{ day, month money.Minor }

// use sums the windows. What another fiat used counts as the same share of its own limit, rounded up.
func use(d *Doc, tier assets.Tier, fiat string, lim assets.Limit, except string, now time.Time) usage {
	var u usage
	for _, e := range d.Entries {
		age := now.Sub(e.At)
		if e.Order == except && except != "" || age >= Month {
			continue
		}
		day, month := e.Minor, e.Minor
		if e.Fiat != fiat {
			other := tier.Limits[e.Fiat]
			day, month = share(e.Minor, lim.DayMinor, other.DayMinor), share(e.Minor, lim.MonthMinor, other.MonthMinor)
		}
		u.month = add(u.month, month)
		if age < Day {
			u.day = add(u.day, day)
		}
	}
	return u
}

// toBeneficiary is what went to the sale's beneficiary in the last 24 hours, other fiats not expected.
func toBeneficiary(d *Doc, s Sale, now time.Time) money.Minor {
	var sum money.Minor
	for _, e := range d.Entries {
		if e.Beneficiary == s.Beneficiary && now.Sub(e.At) < Day && (e.Order != s.Order || s.Order == "") {
			sum = add(sum, e.Minor)
		}
	}
	return sum
}

// share is amount × ours ÷ theirs, rounded up; without a limit of theirs it is everything.
func share(amount, ours, theirs money.Minor) money.Minor {
	if theirs <= 0 {
		return ours
	}
	n := new(big.Int).Mul(big.NewInt(int64(amount)), big.NewInt(int64(ours)))
	n.Add(n, big.NewInt(int64(theirs)-1)).Quo(n, big.NewInt(int64(theirs)))
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return money.Minor(n.Int64())
}

// add is a + b for amounts that are not negative, at most the largest integer.
func add(a, b money.Minor) money.Minor {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// less is limit − used, at least zero.
func less(limit, used money.Minor) money.Minor { return max(limit-used, 0) }

// over is the refusal of a sale.
func over(code, fiat string, limit, left money.Minor) error {
	return fault.New(code, nil).With("fiat", fiat).
		With("limit", strconv.FormatInt(int64(limit), 10)).With("left", strconv.FormatInt(int64(left), 10))
}
