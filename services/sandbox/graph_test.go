package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func textMessage(body string) map[string]any {
	return map[string]any{"type": "text", "text": map[string]any{"body": body}}
}

func buttonsMessage(titles ...string) map[string]any {
	var buttons []any
	for i, title := range titles {
		buttons = append(buttons, map[string]any{"type": "reply", "reply": map[string]any{"id": fmt.Sprint("b", i), "title": title}})
	}
	return map[string]any{"type": "interactive", "interactive": map[string]any{
		"type": "button", "body": map[string]any{"text": "?"}, "action": map[string]any{"buttons": buttons},
	}}
}

func listMessage(label string, rows int, title string) map[string]any {
	var all []any
	for i := range rows {
		all = append(all, map[string]any{"id": fmt.Sprint("r", i), "title": title})
	}
	return map[string]any{"type": "interactive", "interactive": map[string]any{
		"type": "list", "body": map[string]any{"text": "?"},
		"action": map[string]any{"button": label, "sections": []any{map[string]any{"rows": all}}},
	}}
}

func flowMessage(change map[string]any) map[string]any {
	parameters := map[string]any{
		"flow_message_version": "3", "flow_name": "sell", "flow_cta": "Start", "flow_token": "ft_1", "flow_action": "data_exchange", "mode": "published",
	}
	for name, value := range change {
		if value == nil {
			delete(parameters, name)
			continue
		}
		parameters[name] = value
	}
	return map[string]any{"type": "interactive", "interactive": map[string]any{
		"type": "flow", "body": map[string]any{"text": "Tap to start"}, "action": map[string]any{"name": "flow", "parameters": parameters},
	}}
}

func TestGraph_refusesWhatMetaRefuses(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.greet()
	long := strings.Repeat("x", 25)
	tests := []struct {
		name     string
		message  map[string]any
		wantCode string
	}{
		{"a text of 4097 characters", textMessage(strings.Repeat("₦", 4097)), "131009"},
		{"an empty text", textMessage(" "), "131008"},
		{"four buttons", buttonsMessage("a", "b", "c", "d"), "131009"},
		{"a button title of 21", buttonsMessage(strings.Repeat("x", 21)), "131009"},
		{"a button title of 11 emoji, 22 UTF-16 units", buttonsMessage(strings.Repeat("👋", 11)), "131009"},
		{"two buttons of one title", buttonsMessage("a", "a"), "131009"},
		{"no button", buttonsMessage(), "131009"},
		{"eleven rows", listMessage("Banks", 11, "x"), "131009"},
		{"a row title of 25", listMessage("Banks", 1, long), "131009"},
		{"a list label of 25", listMessage(long, 1, "x"), "131009"},
		{"an unknown type", map[string]any{"type": "poll"}, "131051"},
		{"a Flow that is not there", flowMessage(map[string]any{"flow_name": "other"}), "131009"},
		{"a Flow with id and name", flowMessage(map[string]any{"flow_id": "1"}), "131009"},
		{"a Flow with a payload for data_exchange", flowMessage(map[string]any{"flow_action_payload": map[string]any{"screen": "DETAILS"}}), "131009"},
		{"a Flow of message version 2", flowMessage(map[string]any{"flow_message_version": "2"}), "131009"},
		{"callback data of 513", map[string]any{"type": "text", "text": map[string]any{"body": "x"}, "biz_opaque_callback_data": strings.Repeat("x", 513)}, "131009"},
		{"an image that was not uploaded", map[string]any{"type": "image", "image": map[string]any{"id": "1"}}, "100"},
		{"a template without a language", map[string]any{"type": "template", "template": map[string]any{"name": "paid"}}, "131008"},
		{"a business-scoped id in to", map[string]any{"to": "NG.12345", "type": "text", "text": map[string]any{"body": "x"}}, "131026"},
		{"our own number", map[string]any{"to": DisplayPhoneNumber, "type": "text", "text": map[string]any{"body": "x"}}, "131021"},
		{"no recipient", map[string]any{"to": "", "type": "text", "text": map[string]any{"body": "x"}}, "100"},
		{"another product", map[string]any{"messaging_product": "x", "type": "text", "text": map[string]any{"body": "x"}}, "100"},
		{"a read mark of an unknown message", map[string]any{"status": "read", "message_id": "wamid.NONE"}, "131009"},
	}
	for _, tt := range tests {
		status, out := h.graph(http.MethodPost, PhoneNumberID+"/messages", outgoingTo(testPhone, tt.message))
		require.Equal(t, http.StatusBadRequest, status, tt.name)
		failure := out["error"].(map[string]any)
		require.Equal(t, json.Number(tt.wantCode), failure["code"], tt.name)
		require.NotEmpty(t, failure["fbtrace_id"], tt.name)
		require.NotEmpty(t, failure["error_data"].(map[string]any)["details"], tt.name)
	}
	require.Len(t, h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)["messages"], 1, "nothing reached the phone")
}

func TestGraph_takesEveryKindOfMessage(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.greet()
	h.send(textMessage(strings.Repeat("₦", 4096)))
	h.send(buttonsMessage("Yes", "No", "Cancel"))
	h.send(listMessage("Banks", 10, "GTBank"))
	h.send(flowMessage(nil))
	h.send(map[string]any{"type": "interactive", "interactive": map[string]any{
		"type": "cta_url", "body": map[string]any{"text": "Open"}, "header": map[string]any{"type": "text", "text": "H"}, "footer": map[string]any{"text": "F"},
		"action": map[string]any{"name": "cta_url", "parameters": map[string]any{"display_text": "Open", "url": "https://example.test/x"}},
	}})
	h.send(map[string]any{"type": "template", "template": map[string]any{"name": "paid", "language": map[string]any{"code": "en"}, "components": []any{
		map[string]any{"type": "body", "parameters": []any{map[string]any{"type": "text", "text": "₦10"}}},
	}}})
	messages := h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)["messages"].([]any)
	var kinds []string
	for _, m := range messages {
		kinds = append(kinds, text(m.(map[string]any)["type"]))
	}
	require.Equal(t, []string{"text", "text", "button", "list", "flow", "cta_url", "template"}, kinds)
	flow := messages[4].(map[string]any)["flow"].(map[string]any)
	require.Equal(t, "sell", flow["name"])
	require.Equal(t, "ft_1", flow["token"])
	require.Len(t, messages[2].(map[string]any)["buttons"], 3)
	require.Len(t, messages[3].(map[string]any)["rows"], 10)
}

func TestGraph_wantsItsToken(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for _, header := range []string{"", "Bearer wrong", "Basic " + h.world.secrets.AccessToken, h.world.secrets.AccessToken} {
		status, out := h.call(http.MethodPost, "/graph/v25.0/"+PhoneNumberID+"/messages", outgoingTo(testPhone, textMessage("x")), "Authorization", header)
		require.Equal(t, http.StatusUnauthorized, status)
		require.Equal(t, json.Number("190"), out["error"].(map[string]any)["code"])
	}
	status, out := h.graph(http.MethodPost, "999/messages", outgoingTo(testPhone, textMessage("x")))
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "GraphMethodException", out["error"].(map[string]any)["type"])
}

func TestGraph_keepsTheWindowOf24Hours(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	try := func(message map[string]any) (int, any) {
		status, out := h.graph(http.MethodPost, PhoneNumberID+"/messages", outgoingTo(testPhone, message))
		failure, _ := out["error"].(map[string]any)
		return status, failure["code"]
	}
	status, code := try(textMessage("x"))
	require.Equal(t, http.StatusBadRequest, status, "somebody who never wrote")
	require.Equal(t, json.Number("131047"), code)
	h.greet()
	status, _ = try(textMessage("x"))
	require.Equal(t, http.StatusOK, status)
	h.clock.pass(24*time.Hour + time.Second)
	_, code = try(textMessage("x"))
	require.Equal(t, json.Number("131047"), code)
	status, _ = try(map[string]any{"type": "template", "template": map[string]any{"name": "paid", "language": map[string]any{"code": "en"}}})
	require.Equal(t, http.StatusOK, status, "a template may")
	h.lever(http.MethodPost, "/world/messages", map[string]any{"from": testPhone, "message": map[string]any{"type": "reaction", "reaction": map[string]any{"emoji": "👍"}}})
	_, code = try(textMessage("x"))
	require.Equal(t, json.Number("131047"), code, "a reaction opens nothing")
}

func TestGraph_limitsThePairWhenToldTo(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(cfg *Config) { cfg.PairPerMinute = 2 })
	h.greet()
	h.send(textMessage("1"))
	h.send(textMessage("2"))
	status, out := h.graph(http.MethodPost, PhoneNumberID+"/messages", outgoingTo(testPhone, textMessage("3")))
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, json.Number("131056"), out["error"].(map[string]any)["code"])
	h.clock.pass(time.Minute)
	h.send(textMessage("3"))
}

func TestGraph_tellsSentDeliveredRead(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.greet()
	message := textMessage("x")
	message["biz_opaque_callback_data"] = "notify:7:1"
	wamid := h.send(message)
	h.drain()
	var got []string
	for _, a := range h.bot.at(whatsAppPath)[1:] {
		require.True(t, signedByMeta(h.world.secrets.AppSecret, a))
		status := firstValue(t, a)["statuses"].([]any)[0].(map[string]any)
		require.Equal(t, wamid, status["id"])
		require.Equal(t, testPhone, status["recipient_id"])
		require.Equal(t, "notify:7:1", status["biz_opaque_callback_data"])
		got = append(got, text(status["status"]))
	}
	require.Equal(t, []string{"sent", "delivered", "read"}, got)
	last := h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)["messages"].([]any)[1].(map[string]any)
	require.Equal(t, "read", last["status"])
}

func TestGraph_marksAsRead(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	out := h.lever(http.MethodPost, "/world/messages", map[string]any{"from": testPhone, "text": "hi"})
	status, answer := h.graph(http.MethodPost, PhoneNumberID+"/messages", map[string]any{
		"messaging_product": "whatsapp", "status": "read", "message_id": out["wamid"], "typing_indicator": map[string]any{"type": "text"},
	})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, true, answer["success"])
	require.Equal(t, json.Number("0"), h.lever(http.MethodGet, "/world/state", nil)["messages_out"], "a mark is no message")
}

// upload sends a multipart upload to a Graph path.
func (h *harness) upload(path string, fields map[string]string, fileType string, content []byte) (int, map[string]any) {
	h.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		require.NoError(h.t, form.WriteField(name, value))
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", `form-data; name="file"; filename="file.bin"`)
	header.Set("Content-Type", fileType)
	part, err := form.CreatePart(header)
	require.NoError(h.t, err)
	_, err = part.Write(content)
	require.NoError(h.t, err)
	require.NoError(h.t, form.Close())
	return h.call(http.MethodPost, "/graph/v25.0/"+path, body.String(), "Content-Type", form.FormDataContentType(),
		"Authorization", "Bearer "+h.world.secrets.AccessToken)
}

func TestGraph_mediaIsUploadedSentAndDownloaded(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.greet()
	picture := []byte("\x89PNG\r\n\x1a\nnot really")
	fields := map[string]string{"messaging_product": "whatsapp", "type": "image/png"}
	status, out := h.upload(PhoneNumberID+"/media", fields, "image/png", picture)
	require.Equal(t, http.StatusOK, status)
	id := text(out["id"])
	h.send(map[string]any{"type": "image", "image": map[string]any{"id": id, "caption": "Receipt ₦10"}})
	bubble := h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)["messages"].([]any)[1].(map[string]any)
	require.Equal(t, "image", bubble["type"])
	require.Equal(t, "Receipt ₦10", bubble["text"])
	_, node := h.graph(http.MethodGet, id+"?phone_number_id="+PhoneNumberID, nil)
	require.Equal(t, "image/png", node["mime_type"])
	for path, authorised := range map[string]bool{"/graph/media/" + id: true, text(bubble["media"].(map[string]any)["url"]): false} {
		header := []string{}
		if authorised {
			header = []string{"Authorization", "Bearer " + h.world.secrets.AccessToken}
		}
		res, err := h.do(http.MethodGet, path, nil, header...)
		require.NoError(t, err)
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, picture, got)
	}
	fields["type"] = "application/x-msdownload"
	status, out = h.upload(PhoneNumberID+"/media", fields, "application/x-msdownload", picture)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, json.Number("131053"), out["error"].(map[string]any)["code"])
}

func TestGraph_flowsAreCreatedUploadedAndPublished(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.greet()
	status, out := h.graph(http.MethodPost, BusinessAccountID+"/flows", map[string]any{"name": "offramp_v2", "categories": []string{"OTHER"}})
	require.Equal(t, http.StatusOK, status)
	id := text(out["id"])
	refused, _ := h.graph(http.MethodPost, PhoneNumberID+"/messages", outgoingTo(testPhone, flowMessage(map[string]any{"flow_name": "offramp_v2"})))
	require.Equal(t, http.StatusBadRequest, refused, "a draft cannot be sent as published")
	asset := map[string]string{"name": "flow.json", "asset_type": "FLOW_JSON"}
	broken := strings.Replace(sellFlow, `"REVIEW":["DONE"]`, `"REVIEW":["DETAILS"]`, 1)
	status, out = h.upload(id+"/assets", asset, "application/json", []byte(broken))
	require.Equal(t, http.StatusOK, status, "errors are listed with 200")
	require.NotEmpty(t, out["validation_errors"])
	status, _ = h.graph(http.MethodPost, id+"/publish", nil)
	require.Equal(t, http.StatusBadRequest, status)
	status, out = h.upload(id+"/assets", asset, "application/json", []byte(sellFlow))
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, out["validation_errors"])
	status, _ = h.graph(http.MethodPost, id+"/publish", nil)
	require.Equal(t, http.StatusOK, status)
	h.send(flowMessage(map[string]any{"flow_name": nil, "flow_id": id}))
	_, node := h.graph(http.MethodGet, id+"?fields=id,status", nil)
	require.Equal(t, "PUBLISHED", node["status"])
}

func TestGraph_showsAndTakesTheFlowKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	_, out := h.graph(http.MethodGet, PhoneNumberID+"/whatsapp_business_encryption", nil)
	shown := out["data"].([]any)[0].(map[string]any)
	require.Equal(t, "VALID", shown["business_public_key_signature_status"])
	status, _ := h.graph(http.MethodPost, PhoneNumberID+"/whatsapp_business_encryption", map[string]any{"business_public_key": shown["business_public_key"]})
	require.Equal(t, http.StatusOK, status)
	status, _ = h.graph(http.MethodPost, PhoneNumberID+"/whatsapp_business_encryption", map[string]any{"business_public_key": "no key"})
	require.Equal(t, http.StatusBadRequest, status)
}

func TestGraph_verifiesACallbackByItsChallenge(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	body := map[string]any{"override_callback_uri": h.world.cfg.BotURL + whatsAppPath, "verify_token": h.world.secrets.VerifyToken}
	status, _ := h.graph(http.MethodPost, BusinessAccountID+"/subscribed_apps", body)
	require.Equal(t, http.StatusBadRequest, status, "an empty 200 is no challenge")
	status, _ = h.graph(http.MethodPost, BusinessAccountID+"/subscribed_apps", map[string]any{})
	require.Equal(t, http.StatusOK, status)
}

func TestValidateFlow_findsWhatAPublishFailsOn(t *testing.T) {
	t.Parallel()
	require.Empty(t, validateFlow([]byte(sellFlow)))
	for name, change := range map[string][2]string{
		"an old version":          {`"version":"7.3"`, `"version":"4.0"`},
		"a reserved screen id":    {`"DONE"`, `"SUCCESS"`},
		"a cycle":                 {`"CHECKING":["DONE"]`, `"CHECKING":["DETAILS"]`},
		"a field not declared":    {`${data.summary}`, `${data.other}`},
		"a field without example": {`"summary":{"type":"string","__example__":"x"}`, `"summary":{"type":"string"}`},
		"a label too long":        {`"label":"Asset"`, `"label":"Asset that you would like to sell"`},
		"no success at the end":   {`"success":true`, `"success":false`},
		"a dead end":              {`"REVIEW":["DONE"]`, `"REVIEW":[]`},
		"no JSON":                 {`{"version"`, `{version`},
	} {
		broken := strings.ReplaceAll(sellFlow, change[0], change[1])
		require.NotEqual(t, sellFlow, broken, name)
		require.NotEmpty(t, validateFlow([]byte(broken)), name)
	}
}
