package setting

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"offrampbot/services/money"
	"offrampbot/services/store"
)

const (
	// freeRatePercent is how far from its present value one person may set a rate.
	freeRatePercent = 5
	// freeSpreadBps is how far one person may move the spread: as far as a rate.
	freeSpreadBps = freeRatePercent * 100
)

// Wanted is one setting that a second person has to agree to: what it is and what it shall be.
type Wanted struct {
	Name  string `bson:"name" json:"name"`
	Was   string `bson:"was" json:"was"`
	Value string `bson:"value" json:"value"`
}

// Second judges changes before they are made: it returns every change with its present value, sorted by name, and
// whether they need a second person, which they do together as soon as one of them does. A rate within 5 % of the
// present one and whatever turns something off is one person's; so is turning on what a person turned off. Fault code
// setting_invalid as for Change.
func (c *Catalogue) Second(r store.Reader, changes map[string]string) (wanted []Wanted, needed bool, err error) {
	before, err := Load(r)
	if err != nil {
		return nil, false, err
	}
	if len(changes) == 0 || len(changes) > maxChanges {
		return nil, false, refused("", fmt.Errorf("give 1 to %d settings", maxChanges))
	}
	after := before.clone()
	names, err := c.apply(after, changes, stamp{})
	if err != nil {
		return nil, false, err
	}
	if err := after.validate(changes); err != nil {
		return nil, false, err
	}
	for _, name := range names {
		was, shall := c.fields[name].get(before), c.fields[name].get(after)
		wanted = append(wanted, Wanted{Name: name, Was: was, Value: strings.TrimSpace(changes[name])})
		needed = needed || was != shall && weighty(before, after, name)
	}
	return wanted, needed, nil
}

// IsAsAsked reports whether settings still are what they were when somebody asked to change them: what was agreed to is
// this change and no other.
func (c *Catalogue) IsAsAsked(r store.Reader, wanted []Wanted) (bool, error) {
	s, err := Load(r)
	if err != nil {
		return false, err
	}
	for _, w := range wanted {
		f, err := c.find(w.Name)
		if err != nil {
			return false, err
		}
		if f.get(s) != w.Was {
			return false, nil
		}
	}
	return true, nil
}

// weighty reports whether the change of one setting needs a second person.
func weighty(before, after *Settings, name string) bool {
	kind, rest, _ := strings.Cut(name, ".")
	switch kind {
	case "fee", "limit", "band":
		return true
	case "spread_bps":
		return max(after.SpreadBps-before.SpreadBps, before.SpreadBps-after.SpreadBps) > freeSpreadBps
	case "rate":
		pair := strings.Replace(rest, ".", "/", 1)
		present, known := before.Rates[pair]
		return known && !near(present.Rate, after.Rates[pair].Rate)
	case "switch":
		key := strings.Replace(rest, ".", ":", 1)
		_, off := after.Switches[key]
		return !off && before.Toggled[key].Alert
	default:
		return false
	}
}

// near reports whether a rate is within freeRatePercent of the present one, both ends included, exactly.
func near(present, next money.Rate) bool {
	a, b := new(big.Rat).SetFrac64(present.Num, present.Den), new(big.Rat).SetFrac64(next.Num, next.Den)
	off := new(big.Rat).Sub(b, a)
	return off.Abs(off).Cmp(a.Mul(a, big.NewRat(freeRatePercent, 100))) <= 0
}

// String is the change as people read it.
func (w Wanted) String() string {
	if w.Was == "" {
		return w.Name + "=" + w.Value
	}
	return w.Name + "=" + w.Value + " (now " + strconv.Quote(w.Was) + ")"
}
