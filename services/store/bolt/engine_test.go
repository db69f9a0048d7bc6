package bolt_test

import (
	"testing"

	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

func TestEngine_conforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, indexes []store.Index) store.Engine { return testkit.Bolt(t, indexes) })
}
