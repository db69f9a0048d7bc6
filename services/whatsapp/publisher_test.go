package whatsapp

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const account = "102000000000001"

// flowServer answers the calls of a publisher by method and path; an answer may be replaced per key.
func flowServer(t *testing.T, replace map[string]string) *graph {
	t.Helper()
	replies := map[string]string{
		"GET /" + account + "/flows":                           `{"data":[{"id":"777","name":"other","status":"PUBLISHED"}]}`,
		"POST /" + account + "/flows":                          `{"id":"123456","success":true}`,
		"POST /123456":                                         `{"success":true}`,
		"POST /123456/assets":                                  `{"success":true,"validation_errors":[]}`,
		"POST /123456/publish":                                 `{"success":true}`,
		"GET /123456":                                          `{"id":"123456","name":"offramp_v1","status":"PUBLISHED","validation_errors":[],"json_version":"7.3","data_api_version":"4.0","endpoint_uri":"https://bot.example/webhooks/flows"}`,
		"GET /" + account + "/subscribed_apps":                 `{"data":[{"whatsapp_business_api_data":{"id":"1","name":"bot"}}]}`,
		"POST /" + account + "/subscribed_apps":                `{"success":true}`,
		"POST /" + ourNumber + "/whatsapp_business_encryption": `{"success":true}`,
		"GET /" + ourNumber + "/whatsapp_business_encryption":  `{"data":[{"business_public_key":"PEM\n","business_public_key_signature_status":"VALID"}]}`,
		"GET /" + account + "/flows?after=page2":               `{"data":[{"id":"123456","name":"offramp_v1","status":"DRAFT"}]}`,
	}
	for key, body := range replace {
		replies[key] = body
	}
	return newGraph(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		key := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v25.0")
		if after := r.URL.Query().Get("after"); after != "" {
			key += "?after=" + after
		}
		body, ok := replies[key]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			body = apiAnswer(100)
		}
		_, _ = io.WriteString(w, body) // the test fails on what the client sees
	})
}

func (g *graph) publisher(t *testing.T) *FlowPublisher {
	t.Helper()
	p, err := NewFlowPublisher(g.client(t), account)
	require.NoError(t, err)
	return p
}

func (g *graph) calls() []string {
	var out []string
	for _, r := range g.requests {
		out = append(out, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v25.0"))
	}
	return out
}

var sellFlow = FlowDocument{
	Name: "offramp_v1", JSON: []byte(`{"version":"7.3"}`), EndpointURI: "https://bot.example/webhooks/flows",
}

func TestFlowPublisher_createsUploadsAndPublishes(t *testing.T) {
	t.Parallel()
	g := flowServer(t, nil)
	info, err := g.publisher(t).Publish(t.Context(), sellFlow)
	require.NoError(t, err)
	require.Equal(t, FlowInfo{
		ID: "123456", Name: "offramp_v1", Status: "PUBLISHED", EndpointURI: "https://bot.example/webhooks/flows",
		JSONVersion: "7.3", DataAPIVersion: "4.0",
	}, info)
	require.Equal(t, []string{
		"GET /" + account + "/flows", "POST /" + account + "/flows", "POST /123456", "POST /123456/assets",
		"POST /123456/publish", "GET /123456",
	}, g.calls())
	require.JSONEq(t, `{"name":"offramp_v1","categories":["OTHER"],"endpoint_uri":"https://bot.example/webhooks/flows"}`, g.bodies[1])
	for _, part := range []string{
		`name="asset_type"`, "FLOW_JSON", `name="name"`, "flow.json", `name="file"; filename="flow.json"`, "application/json", `{"version":"7.3"}`,
	} {
		require.Contains(t, g.bodies[3], part)
	}
}

func TestFlowPublisher_findsAFlowOnALaterPage(t *testing.T) {
	t.Parallel()
	g := flowServer(t, map[string]string{
		"GET /" + account + "/flows": `{"data":[{"id":"777","name":"other"}],"paging":{"cursors":{"after":"page2"},"next":"https://x"}}`,
	})
	info, err := g.publisher(t).Publish(t.Context(), sellFlow)
	require.NoError(t, err)
	require.Equal(t, "123456", info.ID)
	require.NotContains(t, g.calls(), "POST /"+account+"/flows", "it is not created twice")
}

func TestFlowPublisher_aListOfErrorsIsAFailureWhateverTheStatusSays(t *testing.T) {
	t.Parallel()
	refusal := `{"success":true,"validation_errors":[{"error":"INVALID_PROPERTY","error_type":"JSON_SCHEMA_ERROR","message":"no such property","line_start":7,"column_start":3}]}`
	for _, key := range []string{"POST /123456/assets", "POST /123456/publish", "GET /123456", "POST /" + account + "/flows", "POST /123456"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			_, err := flowServer(t, map[string]string{key: refusal}).publisher(t).Publish(t.Context(), sellFlow)
			var refused *ValidationError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, []ValidationProblem{{Error: "INVALID_PROPERTY", Type: "JSON_SCHEMA_ERROR", Message: "no such property", Line: 7, Column: 3}}, refused.Problems)
			require.Contains(t, err.Error(), "line 7")
		})
	}
}

func TestFlowPublisher_whatIsNotASuccessIsAFailure(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, key, answer string }{
		{"no success", "POST /123456/publish", `{}`},
		{"success false", "POST /123456/assets", `{"success":false}`},
		{"errors that are no list", "POST /123456/assets", `{"success":true,"validation_errors":"many"}`},
		{"still a draft", "GET /123456", `{"id":"123456","status":"DRAFT"}`},
		{"no id", "POST /" + account + "/flows", `{"success":true}`},
		{"an id that is a path", "POST /" + account + "/flows", `{"id":"../me"}`},
		{"an error with 200", "POST /123456/publish", apiAnswer(139001)},
		{"HTML", "GET /" + account + "/flows", `<html>`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := flowServer(t, map[string]string{tt.key: tt.answer}).publisher(t).Publish(t.Context(), sellFlow)
			require.Error(t, err)
		})
	}
	_, err := flowServer(t, nil).publisher(t).Publish(t.Context(), FlowDocument{Name: "x", JSON: []byte(`{`)})
	require.Error(t, err)
}

func TestFlowPublisher_setsAndChecksTheKey(t *testing.T) {
	t.Parallel()
	g := flowServer(t, nil)
	require.NoError(t, g.publisher(t).SetPublicKey(t.Context(), []byte("PEM\n")))
	form, err := url.ParseQuery(g.bodies[0])
	require.NoError(t, err)
	require.Equal(t, "PEM\n", form.Get("business_public_key"))
	require.Equal(t, "application/x-www-form-urlencoded", g.requests[0].Header.Get("Content-Type"))

	require.Error(t, g.publisher(t).SetPublicKey(t.Context(), []byte("another")))
	mismatch := flowServer(t, map[string]string{
		"GET /" + ourNumber + "/whatsapp_business_encryption": `{"data":[{"business_public_key":"PEM","business_public_key_signature_status":"MISMATCH"}]}`,
	})
	require.ErrorContains(t, mismatch.publisher(t).SetPublicKey(t.Context(), []byte("PEM")), "MISMATCH")
	none := flowServer(t, map[string]string{"GET /" + ourNumber + "/whatsapp_business_encryption": `{"data":[]}`})
	key, err := none.publisher(t).PublicKey(t.Context())
	require.NoError(t, err)
	require.Empty(t, key.PEM)
}

func TestFlowPublisher_checksTheSubscription(t *testing.T) {
	t.Parallel()
	subscribed, err := flowServer(t, nil).publisher(t).Subscribed(t.Context())
	require.NoError(t, err)
	require.True(t, subscribed)
	empty := flowServer(t, map[string]string{"GET /" + account + "/subscribed_apps": `{"data":[]}`})
	subscribed, err = empty.publisher(t).Subscribed(t.Context())
	require.NoError(t, err)
	require.False(t, subscribed)
	require.NoError(t, empty.publisher(t).Subscribe(t.Context()))
}

func TestNewFlowPublisher_refuses(t *testing.T) {
	t.Parallel()
	_, err := NewFlowPublisher(nil, account)
	require.ErrorContains(t, err, "client")
	_, err = NewFlowPublisher(flowServer(t, nil).client(t), "../me")
	require.ErrorContains(t, err, "account")
}
