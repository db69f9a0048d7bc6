package limits

// Tier is what of a user's tier the rules need; the registry has it. ok is false for a fiat the tier may not sell into.
type Tier interface {
	Limits(fiat string) (limits Limits, ok bool)
}

// TierFunc makes a function a Tier.
type TierFunc func(fiat string) (Limits, bool)

// Limits implements Tier.
func (f TierFunc) Limits(fiat string) (Limits, bool) { return f(fiat) }
