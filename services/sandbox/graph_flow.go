package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"
)

func readJSONForm(body []byte, into map[string]string) error {
	if len(body) == 0 {
		return nil
	}
	var values map[string]any
	if err := json.Unmarshal(body, &values); err != nil {
		return err
	}
	for name, value := range values {
		if s, ok := value.(string); ok {
			into[name] = s
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		into[name] = string(raw)
	}
	return nil
}

func readQueryForm(body string, into map[string]string) error {
	values, err := url.ParseQuery(body)
	if err != nil {
		return err
	}
	for name := range values {
		into[name] = values.Get(name)
	}
	return nil
}

func done() reply { return reply{status: http.StatusOK, body: gin.H{"success": true}} }

// getFlowKey shows the key that clients encrypt for.
func (w *World) getFlowKey() reply {
	_, text := w.flows.key()
	return reply{status: http.StatusOK, body: gin.H{"data": []any{gin.H{
		"business_public_key": text, "business_public_key_signature_status": "VALID",
	}}}}
}

func (w *World) postFlowKey(call graphCall) reply {
	f, err := readForm(call.c.GetHeader("Content-Type"), call.body)
	if err != nil {
		return graphError(100, "The parameter business_public_key is required.")
	}
	if err := w.flows.setKey(f.values["business_public_key"]); err != nil {
		return graphError(100, err.Error())
	}
	return done()
}

// subscribe subscribes the app to the account; an override address is verified as Meta does, by a GET with a challenge.
func (w *World) subscribe(call graphCall) reply {
	f, err := readForm(call.c.GetHeader("Content-Type"), call.body)
	if err != nil {
		return graphError(100, "Invalid parameter.")
	}
	if address := f.values["override_callback_uri"]; address != "" {
		if !w.verifyCallback(call.c.Request.Context(), address, f.values["verify_token"]) {
			return graphError(100, "The callback URL could not be verified: it must answer 200 with hub.challenge.")
		}
	}
	return done()
}

// verifyCallback asks a webhook address for its challenge (Meta: webhooks).
func (w *World) verifyCallback(ctx context.Context, address, token string) bool {
	challenge := rand.Text()
	query := url.Values{"hub.mode": {"subscribe"}, "hub.challenge": {challenge}, "hub.verify_token": {token}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), nil)
	if err != nil {
		return false
	}
	res, err := w.cfg.Client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return err == nil && res.StatusCode == http.StatusOK && string(body) == challenge
}

// createFlow makes a Flow, with its document at once when flow_json is given, and published when publish is true.
func (w *World) createFlow(call graphCall) reply {
	f, err := readForm(call.c.GetHeader("Content-Type"), call.body)
	name := f.values["name"]
	if err != nil || name == "" {
		return graphError(100, "The parameter name is required.")
	}
	for _, taken := range w.flows.names() {
		if taken == name {
			return graphError(100, "A Flow with this name already exists.")
		}
	}
	made := &flow{id: w.mint.hex("flow", 15), name: name, status: "DRAFT", endpoint: f.values["endpoint_uri"]}
	if document := f.values["flow_json"]; document != "" {
		made.upload([]byte(document))
	}
	body := gin.H{"id": made.id, "success": true, "validation_errors": problemsOf(made)}
	if f.values["publish"] == "true" {
		if refused := made.publishDraft(); refused != "" {
			body["success"] = false
		}
	}
	w.flows.add(made)
	return reply{status: http.StatusOK, body: body}
}

func (w *World) listFlows() reply {
	list := []any{}
	w.flows.each(func(f *flow) { list = append(list, f.node()) })
	return reply{status: http.StatusOK, body: gin.H{"data": list}}
}

func (s *flowShelf) each(fn func(f *flow)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.order {
		fn(s.byID[id])
	}
}

func problemsOf(f *flow) []validationError {
	if f.problems == nil {
		return []validationError{}
	}
	return f.problems
}

func (f *flow) node() gin.H {
	node := gin.H{
		"id": f.id, "name": f.name, "status": f.status, "categories": []string{"OTHER"}, "validation_errors": problemsOf(f),
	}
	if f.draft != nil {
		node["json_version"], node["data_api_version"] = f.draft.Version, f.draft.DataAPI
	}
	if f.endpoint != "" {
		node["endpoint_uri"] = f.endpoint
	}
	return node
}

// upload takes a new document as the draft; a published Flow keeps its published version until the next publish.
func (f *flow) upload(raw []byte) {
	f.problems = validateFlow(raw)
	f.draftRaw, f.status = raw, "DRAFT"
	f.draft = nil
	if d, err := parseFlow(raw); err == nil && len(f.problems) == 0 {
		f.draft = d
	}
}

// publishDraft publishes the draft and says why it cannot.
func (f *flow) publishDraft() (refused string) {
	if f.draft == nil || len(f.problems) > 0 {
		return "The Flow has validation errors or no JSON."
	}
	f.document, f.raw, f.status = f.draft, f.draftRaw, "PUBLISHED"
	return ""
}

// flowNode serves a Flow by id: read, change, upload, publish, deprecate, delete (Meta: Flows API).
func (w *World) flowNode(call graphCall) reply {
	f, err := readForm(call.c.GetHeader("Content-Type"), call.body)
	if err != nil {
		return graphError(100, "Invalid parameter.")
	}
	if call.is("POST", "publish") && !w.endpointAnswers(call) {
		return graphError(139002, "The endpoint did not answer the health check.")
	}
	r := unknownNode(call)
	w.flows.with(call.node, func(found *flow) {
		if found != nil {
			r = found.serve(call, f, r)
		}
	})
	return r
}

func (f *flow) serve(call graphCall, in form, unknown reply) reply {
	switch {
	case call.is("GET", ""):
		return reply{status: http.StatusOK, body: f.node()}
	case call.is("POST", ""):
		f.name = orString(in.values["name"], f.name)
		f.endpoint = orString(in.values["endpoint_uri"], f.endpoint)
		return done()
	case call.is("POST", "assets"):
		if in.values["asset_type"] != "FLOW_JSON" || in.file == nil {
			return graphError(100, "asset_type must be FLOW_JSON and file is required.")
		}
		f.upload(in.file) // 200 even when problems are listed: the caller must look
		return reply{status: http.StatusOK, body: gin.H{"success": len(f.problems) == 0, "validation_errors": problemsOf(f)}}
	case call.is("GET", "assets"):
		return reply{status: http.StatusOK, body: gin.H{"data": []any{gin.H{"name": "flow.json", "asset_type": "FLOW_JSON"}}}}
	case call.is("POST", "publish"):
		if refused := f.publishDraft(); refused != "" {
			return graphError(139002, refused)
		}
		return done()
	case call.is("POST", "deprecate"):
		f.status = "DEPRECATED"
		return done()
	case call.is("DELETE", ""):
		if f.document != nil {
			return graphError(100, "Only drafts can be deleted.")
		}
		f.status = "DEPRECATED"
		return done()
	}
	return unknown
}

// endpointAnswers sends the health check to a Flow that has an endpoint; one without has nothing to check.
func (w *World) endpointAnswers(call graphCall) bool {
	var endpoint string
	w.flows.with(call.node, func(f *flow) {
		if f != nil {
			endpoint = f.endpoint
		}
	})
	if endpoint == "" {
		return true
	}
	answer, err := w.askEndpoint(call.c.Request.Context(), map[string]any{"version": "3.0", "action": "ping"})
	if err != nil || answer.status != http.StatusOK {
		return false
	}
	return text(answer.data["status"]) == "active"
}
