package chaintest_test

import (
	"testing"

	"offrampbot/services/deposit/chaintest"
	"offrampbot/services/testkit"
)

func TestSuite_onARealNode(t *testing.T) { //nolint:paralleltest // the node is shared by the sub-tests
	url := testkit.AnvilURL(t)
	chaintest.Run(t, func(t *testing.T) *chaintest.World { return chaintest.NewAnvil(t, url) }, chaintest.WithBooks)
}
