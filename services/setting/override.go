package setting

import (
	"maps"

	"offrampbot/services/assets"
	"offrampbot/services/money"
)

// Fee is what a sale into a fiat costs: the operator's fee, else the registry's.
func (s *Settings) Fee(fiat assets.Fiat) assets.Fee {
	if f, ok := s.Fees[fiat.Code]; ok {
		return assets.Fee{FlatMinor: money.Minor(f.FlatMinor), BasisPoints: f.Bps, CapMinor: money.Minor(f.CapMinor)}
	}
	return fiat.Fee
}

// Tier is a tier with the operator's limits over those of the registry; the given one is left as it is. limits.Check
// takes the result.
func (s *Settings) Tier(tier assets.Tier) assets.Tier {
	out := tier
	out.Limits = maps.Clone(tier.Limits)
	for fiat := range tier.Limits {
		l, ok := s.Limits[limitKey(tier.ID, fiat)]
		if !ok {
			continue
		}
		out.Limits[fiat] = assets.Limit{
			SaleMinor: money.Minor(l.SaleMinor), DayMinor: money.Minor(l.DayMinor),
			MonthMinor: money.Minor(l.MonthMinor), NewBeneficiaryMinor: money.Minor(l.NewBeneficiaryMinor),
		}
	}
	return out
}

// limitKey names the limit of a tier in a fiat: "tier0/NGN".
func limitKey(tier, fiat string) string { return tier + "/" + fiat }

// feeOf is the fee in force as settings keep it, the start of a change of one part.
func (s *Settings) feeOf(fiat assets.Fiat) Fee {
	f := s.Fee(fiat)
	return Fee{FlatMinor: int64(f.FlatMinor), Bps: f.BasisPoints, CapMinor: int64(f.CapMinor)}
}

// limitOf is the limit in force as settings keep it, the start of a change of one part.
func (s *Settings) limitOf(tier assets.Tier, fiat string) Limit {
	l := s.Tier(tier).Limits[fiat]
	return Limit{
		SaleMinor: int64(l.SaleMinor), DayMinor: int64(l.DayMinor),
		MonthMinor: int64(l.MonthMinor), NewBeneficiaryMinor: int64(l.NewBeneficiaryMinor),
	}
}
