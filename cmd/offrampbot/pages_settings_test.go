package main

import (
	"regexp"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/sandbox"
	"offrampbot/services/testkit"
)

func TestPages_aFeeIsChangedByTwoPeople(t *testing.T) {
	t.Parallel()
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), nil)
	first, second := w.desk(sandbox.DefaultOperator()), w.desk(sandbox.DefaultApprover())
	first.logsIn()
	second.logsIn()
	asked := first.post(first.page("/admin/settings"), "/admin/settings", "name", "fee.NGN.bps", "value", "77", "reason", "costs went up")
	first.says(asked, "Nothing is changed yet: another person has to approve this change")
	first.says(first.page("/admin/review"), "fee.NGN.bps=77", "You asked for this, so another person must decide it.")

	queue := second.page("/admin/review")
	second.says(queue, first.who.Email+" asks to change settings", "fee.NGN.bps=77", "costs went up")
	approve := regexp.MustCompile(`formaction="(/admin/approvals/[^"]+/approve)"`).FindStringSubmatch(queue.body)
	require.NotNil(t, approve)
	own := first.post(first.page("/admin/settings"), approve[1], "order", "", "reason", "it is fine")
	require.Equal(t, 403, own.status)
	second.says(second.post(queue, approve[1], "order", "", "reason", "seen the invoice"), "Approved and carried out", "Decided lately")
	second.says(second.page("/admin/settings"), "fee.NGN.bps 77")
	second.says(second.page("/admin/audit?stream=settings"), "approved by staff:"+second.who.Email)
}
