package reconcile

import (
	"fmt"

	"offrampbot/services/figures"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
)

// liabilities checks that what we hold on chain and in the treasury covers what we owe to users and to suspense (I14). For
// a chain that is not compared the ledger's word is all there is.
func (r *Reconciler) liabilities(sums []figures.Sum, held map[string]money.Micro, blind map[string]bool) (out []Difference) {
	of := func(account string) int64 { return figures.Of(sums, figures.Account, account) }
	for _, asset := range r.d.Registry.Assets() {
		users := "user:*:" + asset.ID + ":available"
		owed := of(users) + of("user:*:"+asset.ID+":held")
		holds := int64(held[asset.ID]) - of(ledger.Treasury(asset.ID))
		for _, chain := range r.d.Registry.Chains() {
			owed += of(ledger.Suspense(chain.ID, asset.ID))
			if blind[chain.ID] {
				holds -= of(ledger.OnChain(chain.ID, asset.ID))
			}
		}
		if holds < owed {
			out = append(out, Difference{
				users, "I14", fmt.Sprintf("we hold %d micro of %s on chain and in the treasury, and owe %d", holds, asset.ID, owed),
			})
		}
	}
	return out
}
