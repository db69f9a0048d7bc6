package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// schemaDoc is the committed schema.
type schemaDoc struct {
	Calls map[string]struct {
		Request  *schemaNode `json:"request"`
		Response *schemaNode `json:"response"`
	} `json:"x-calls"`
	Defs map[string]*schemaNode `json:"$defs"`
}

// schemaNode is the part of JSON Schema that the file uses.
type schemaNode struct {
	Ref        string                 `json:"$ref"`
	Type       string                 `json:"type"`
	Required   []string               `json:"required"`
	Properties map[string]*schemaNode `json:"properties"`
	Additional json.RawMessage        `json:"additionalProperties"`
	Items      *schemaNode            `json:"items"`
	Enum       []any                  `json:"enum"`
	Minimum    *json.Number           `json:"minimum"`
}

func readSchema(t *testing.T) schemaDoc {
	t.Helper()
	var doc schemaDoc
	require.NoError(t, decodeExact(worldSchema, &doc))
	return doc
}

// check says how a value breaks a schema, "" for not at all.
func (d schemaDoc) check(s *schemaNode, value any, path string) string {
	if s.Ref != "" {
		found := d.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		if found == nil {
			return path + ": no such definition " + s.Ref
		}
		return d.check(found, value, path)
	}
	if len(s.Enum) > 0 {
		for _, allowed := range s.Enum {
			if allowed == value {
				return ""
			}
		}
		return fmt.Sprintf("%s: %v is none of %v", path, value, s.Enum)
	}
	switch v := value.(type) {
	case map[string]any:
		return d.checkObject(s, v, path)
	case []any:
		if s.Type != "array" && s.Type != "" {
			return path + ": is an array"
		}
		for i, item := range v {
			if problem := d.check(s.Items, item, fmt.Sprintf("%s[%d]", path, i)); problem != "" {
				return problem
			}
		}
	case string:
		if s.Type != "string" && s.Type != "" {
			return path + ": is a string"
		}
	case bool:
		if s.Type != "boolean" && s.Type != "" {
			return path + ": is a boolean"
		}
	case json.Number:
		if s.Type != "integer" && s.Type != "" || strings.Contains(v.String(), ".") {
			return path + ": is a number"
		}
		if s.Minimum != nil && s.Minimum.String() == "0" && strings.HasPrefix(v.String(), "-") {
			return path + ": is below its minimum"
		}
	default:
		return fmt.Sprintf("%s: %T", path, value)
	}
	return ""
}

func (d schemaDoc) checkObject(s *schemaNode, v map[string]any, path string) string {
	if s.Type != "object" && s.Type != "" {
		return path + ": is an object"
	}
	for _, name := range s.Required {
		if _, found := v[name]; !found {
			return path + ": lacks " + name
		}
	}
	for name, part := range v {
		declared := s.Properties[name]
		if declared == nil && string(s.Additional) == "false" {
			return path + ": has " + name + ", which is not declared"
		}
		if declared == nil && strings.HasPrefix(string(s.Additional), "{") {
			declared = &schemaNode{}
			if err := json.Unmarshal(s.Additional, declared); err != nil {
				return path + ": " + err.Error()
			}
		}
		if declared == nil {
			continue
		}
		if problem := d.check(declared, part, path+"."+name); problem != "" {
			return problem
		}
	}
	return ""
}

// TestSchema_realAnswersFit plays through every call of the world API and compares request and answer with the schema.
func TestSchema_realAnswersFit(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.endpoint(sellEndpoint)
	h.staffAPI(aTale)
	h.world.cfg.Orders = OrderTable{
		States: []OrderState{{Name: "waiting", Meaning: "coins are missing"}}, Edges: []OrderEdge{{To: "waiting", Events: []string{"Placed"}}},
	}
	doc := readSchema(t)
	played := make(map[string]bool)
	play := func(call, path string, body map[string]any) map[string]any {
		t.Helper()
		entry, found := doc.Calls[call]
		require.True(t, found, call)
		played[call] = true
		if body != nil {
			var sent any
			require.NoError(t, decodeExact([]byte(jsonText(body)), &sent))
			require.NotNil(t, entry.Request, call)
			require.Empty(t, doc.check(entry.Request, sent, "request"), call)
		}
		method, _, _ := strings.Cut(call, " ")
		var out map[string]any
		if body == nil {
			out = h.lever(method, path, nil)
		} else {
			out = h.lever(method, path, body)
		}
		require.Empty(t, doc.check(entry.Response, out, call), jsonText(out))
		return out
	}

	play("POST /world/messages", "/world/messages", map[string]any{"from": testPhone, "text": "hi", "copies": 2})
	flow := h.send(flowMessage(nil))
	h.send(buttonsMessage("Yes"))
	h.send(listMessage("Banks", 2, "GTBank"))
	play("GET /world/chats/:phone", "/world/chats/"+testPhone, nil)
	play("GET /world/chats", "/world/chats", nil)
	opened := play("POST /world/flows/open", "/world/flows/open?view=1", map[string]any{"phone": testPhone, "wamid": flow})
	session := opened["session"]
	play("POST /world/flows/submit", "/world/flows/submit", map[string]any{"session": session, "screen": "DETAILS", "data": map[string]any{"amount": "5"}})
	play("POST /world/flows/back", "/world/flows/back", map[string]any{"session": session, "screen": "DETAILS"})
	play("POST /world/flows/submit", "/world/flows/submit", map[string]any{"session": session, "screen": "DETAILS", "data": map[string]any{}})
	play("POST /world/flows/submit with copies", "/world/flows/submit", map[string]any{"session": session, "screen": "REVIEW", "data": map[string]any{"pin": "1"}, "copies": 2})
	play("GET /world/flows/sessions/:session", "/world/flows/sessions/"+text(session), nil)
	play("POST /world/flows/submit", "/world/flows/submit", map[string]any{"session": session, "screen": "DONE"})
	play("GET /world/orders", "/world/orders", nil)
	play("GET /world/orders/:reference", "/world/orders/7F2K9QXDM", nil)

	moved := play("POST /world/chains/:chain/transfers", "/world/chains/base/transfers", map[string]any{"to": depositTo, "token": "USDT", "amount": "27.5"})
	play("POST /world/chains/:chain/mine", "/world/chains/base/mine", map[string]any{"blocks": 2})
	play("GET /world/chains/:chain", "/world/chains/base", nil)
	play("GET /world/chains", "/world/chains", nil)
	play("POST /world/chains/:chain/reorg", "/world/chains/base/reorg", map[string]any{"depth": 2, "drop": []any{moved["tx"]}})
	play("POST /world/chains/:chain/auto", "/world/chains/base/auto", map[string]any{"seconds": 0})
	play("POST /world/chains/:chain/stall", "/world/chains/base/stall", map[string]any{"stalled": false})

	h.paystack(http.MethodPost, "/transfer", transferBodyFor(h.recipient(), reference, 750_000))
	play("GET /world/bank/transfers", "/world/bank/transfers", nil)
	play("POST /world/bank/transfers/:reference", "/world/bank/transfers/"+reference, map[string]any{"status": "success", "webhook": true, "copies": 2})
	play("POST /world/bank/auto", "/world/bank/auto", map[string]any{"seconds": 3})
	play("POST /world/bank/balance", "/world/bank/balance", map[string]any{"currency": "NGN", "amount_minor": 100})

	play("POST /world/faults", "/world/faults", map[string]any{"target": "base", "operation": "eth_getLogs", "kind": "error:-32005", "times": 2, "delay_ms": 5})
	play("GET /world/faults", "/world/faults", nil)
	play("GET /world/state", "/world/state", nil)
	play("DELETE /world/faults", "/world/faults", nil)
	play("GET /world/info", "/world/info", nil)
	play("GET /world/events", "/world/events?after=0", nil)
	for call := range doc.Calls {
		require.True(t, played[call], "%s is in the schema and was not played", call)
	}
	served, err := h.do(http.MethodGet, "/world/schema", nil)
	require.NoError(t, err)
	require.NoError(t, served.Body.Close())
	require.Equal(t, http.StatusOK, served.StatusCode)
}

func TestSchema_theCheckerCanFail(t *testing.T) {
	t.Parallel()
	doc := readSchema(t)
	state := doc.Calls["GET /world/state"].Response
	good := map[string]any{
		"people": json.Number("1"), "messages_in": json.Number("1"), "messages_out": json.Number("1"), "transfers": json.Number("0"),
		"transfers_paid": json.Number("0"), "faults": json.Number("0"), "webhooks": json.Number("9"), "webhooks_failed": json.Number("0"), "chains": map[string]any{"base": map[string]any{"height": json.Number("1"), "transfers": json.Number("0")}},
	}
	require.Empty(t, doc.check(state, good, ""))
	for name, change := range map[string]any{"people": "1", "faults": []any{}, "chains": map[string]any{"base": map[string]any{"height": json.Number("1")}}, "more": true} {
		bad := map[string]any{}
		for k, v := range good {
			bad[k] = v
		}
		bad[name] = change
		require.NotEmpty(t, doc.check(state, bad, ""), name)
	}
	require.NotEmpty(t, doc.check(doc.Calls["POST /world/chains/:chain/mine"].Request, map[string]any{}, ""))
}
