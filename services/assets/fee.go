package assets

import (
	"math/big"

	"offrampbot/services/money"
)

// basisPoints is the whole in basis points.
const basisPoints = 10_000

// Fee is what a sale costs, in minor units of its fiat: a flat part and a part of the gross, at most the cap.
type Fee struct {
	FlatMinor   money.Minor `json:"flat_minor"`
	BasisPoints int64       `json:"basis_points"`
	CapMinor    money.Minor `json:"cap_minor,omitempty"` // 0: no cap
}

// On is the fee for a gross amount. The relative part is floored: a fraction of a minor unit is the person's.
func (f Fee) On(gross money.Minor) (money.Minor, error) {
	if gross < 0 {
		return 0, money.ErrOverflow
	}
	part := new(big.Int).Mul(big.NewInt(int64(gross)), big.NewInt(f.BasisPoints))
	part.Quo(part, big.NewInt(basisPoints)).Add(part, big.NewInt(int64(f.FlatMinor)))
	if f.CapMinor > 0 && part.Cmp(big.NewInt(int64(f.CapMinor))) > 0 {
		return f.CapMinor, nil
	}
	if !part.IsInt64() {
		return 0, money.ErrOverflow
	}
	return money.Minor(part.Int64()), nil
}
