package flows

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	flowsjson "offrampbot/flows_json"
)

func TestDetails_askForABankAccountWhenNoneIsSaved(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	require.Equal(t, true, p.opens("offramp_flow", nil).init().Data["needs_account"], "bank and number are not optional")
	p.sells("25")
	require.Equal(t, false, p.opens("offramp_flow", nil).init().Data["needs_account"], "the saved account will do")
}

func TestDetails_bankAndNumberAreRequiredByWhatTheEndpointSends(t *testing.T) {
	t.Parallel()
	raw, err := flowsjson.Read("offramp_flow")
	require.NoError(t, err)
	var document struct {
		Screens []struct {
			ID     string
			Layout struct{ Children []map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &document))
	bound := map[any]any{}
	for _, s := range document.Screens {
		if s.ID == Details {
			for _, c := range s.Layout.Children {
				bound[c["name"]] = c["required"]
			}
		}
	}
	require.Equal(t, "${data.needs_account}", bound["bank_code"])
	require.Equal(t, "${data.needs_account}", bound["account_number"])
}
