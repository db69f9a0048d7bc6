package whatsapp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
)

// graph is a scripted Graph API.
type graph struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	handle   func(w http.ResponseWriter, r *http.Request, body string)
}

func newGraph(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, body string)) *graph {
	t.Helper()
	g := &graph{handle: handle}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		g.mu.Lock()
		g.requests, g.bodies = append(g.requests, r), append(g.bodies, string(raw))
		g.mu.Unlock()
		g.handle(w, r, string(raw))
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *graph) client(t *testing.T, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{GraphURL: g.URL, PhoneNumberID: ourNumber, Token: "test-token", Timeout: 5 * time.Second}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(&http.Transport{DisableKeepAlives: true}, cfg)
	require.NoError(t, err)
	return c
}

func answers(status int, body string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the test fails on what the client sees
	}
}

const sentAnswer = `{"messaging_product":"whatsapp","contacts":[{"input":"+2348030000001","wa_id":"2348030000001","user_id":"NG.1"}],"messages":[{"id":"wamid.Y"}]}`

var hello = Outgoing{To: byPhone, Type: TypeText, Body: "hi", CallbackData: "notify:o1:1"}

func TestClient_sendsWithTokenAndReturnsTheIDs(t *testing.T) {
	t.Parallel()
	g := newGraph(t, answers(200, sentAnswer))
	result, err := g.client(t).Send(t.Context(), hello)
	require.NoError(t, err)
	require.Equal(t, SendResult{Wamid: "wamid.Y", WaID: "2348030000001", ScopedID: "NG.1"}, result)
	require.Len(t, g.requests, 1)
	require.Equal(t, "/v25.0/"+ourNumber+"/messages", g.requests[0].URL.Path)
	require.Equal(t, "Bearer test-token", g.requests[0].Header.Get("Authorization"))
	require.Equal(t, "application/json", g.requests[0].Header.Get("Content-Type"))
	require.JSONEq(t, `{"messaging_product":"whatsapp","recipient_type":"individual","to":"+2348030000001","type":"text",`+
		`"text":{"body":"hi","preview_url":false},"biz_opaque_callback_data":"notify:o1:1"}`, g.bodies[0])
}

func TestClient_keepsAVersionInTheURL(t *testing.T) {
	t.Parallel()
	g := newGraph(t, answers(200, `{"success":true}`))
	c := g.client(t, func(c *Config) { c.GraphURL += "/graph/v26.0/" })
	require.NoError(t, c.MarkRead(t.Context(), "wamid.X", true))
	require.Equal(t, "/graph/v26.0/"+ourNumber+"/messages", g.requests[0].URL.Path)
	require.JSONEq(t, `{"messaging_product":"whatsapp","status":"read","message_id":"wamid.X","typing_indicator":{"type":"text"}}`, g.bodies[0])
	require.NoError(t, c.MarkRead(t.Context(), "wamid.X", false))
	require.JSONEq(t, `{"messaging_product":"whatsapp","status":"read","message_id":"wamid.X"}`, g.bodies[1])
}

// apiAnswer is an error answer of the API.
func apiAnswer(code int) string {
	raw, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": "title", "code": code, "error_data": map[string]any{"details": "call +2348030000001 about 131056"},
	}})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestClient_errorAnswersByCode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		status    int
		body      string
		class     Class
		maybeSent bool
		kind      fault.Kind
	}{
		{"token expired", 401, apiAnswer(190), ClassToken, false, fault.Unavailable},
		{"permission", 403, apiAnswer(299), ClassToken, false, fault.Unavailable},
		{"account blocked", 403, apiAnswer(368), ClassAccount, false, fault.Unavailable},
		{"not registered", 400, apiAnswer(133010), ClassAccount, false, fault.Unavailable},
		{"app throttled with 400", 400, apiAnswer(80007), ClassThrottleApp, false, fault.Unavailable},
		{"number throttled with 400", 400, apiAnswer(130429), ClassThrottleNumber, false, fault.Unavailable},
		{"pair throttled with 400", 400, apiAnswer(131056), ClassThrottlePair, false, fault.Unavailable},
		{"spam limit", 400, apiAnswer(131048), ClassQuality, false, fault.Unavailable},
		{"transient with 400", 400, apiAnswer(1), ClassTransient, true, fault.Unknown},
		{"transient", 500, apiAnswer(131000), ClassTransient, true, fault.Unknown},
		{"window", 400, apiAnswer(131047), ClassWindow, false, fault.Invalid},
		{"undeliverable is not transient", 400, apiAnswer(131026), ClassRecipient, false, fault.Invalid},
		{"our defect", 400, apiAnswer(100), ClassRequest, false, fault.Invalid},
		{"media", 400, apiAnswer(131053), ClassMedia, false, fault.Unavailable},
		{"template missing", 404, apiAnswer(132001), ClassTemplate, false, fault.Invalid},
		{"flow throttled", 400, apiAnswer(132069), ClassFlow, false, fault.Invalid},
		{"a code from the future", 400, apiAnswer(999999), ClassUnknown, true, fault.Unknown},
		{"a code from the future with 500", 500, apiAnswer(999999), ClassTransient, true, fault.Unknown},
		{"an error without a code", 400, `{"error":{"message":"x"}}`, ClassUnknown, true, fault.Unknown},
		{"an error with 200", 200, apiAnswer(131056), ClassThrottlePair, false, fault.Unavailable},
		{"too many requests from a proxy", 429, "slow down", ClassThrottleNumber, false, fault.Unavailable},
		{"HTML with 200", 200, "<html>", ClassTransient, true, fault.Unknown},
		{"nothing with 200", 200, "", ClassTransient, true, fault.Unknown},
		{"no message id with 200", 200, `{"messages":[]}`, ClassTransient, true, fault.Unknown},
		{"HTML with 502", 502, "<html>", ClassTransient, true, fault.Unknown},
		{"HTML with 404", 404, "<html>", ClassUnknown, true, fault.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, answers(tt.status, tt.body))
			_, err := g.client(t).Send(t.Context(), hello)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tt.class, e.Class)
			require.Equal(t, tt.maybeSent, e.MaybeSent)
			require.ErrorIs(t, err, tt.kind)
			require.NotContains(t, err.Error(), "2348030000001")
			require.NotContains(t, err.Error(), "test-token")
			require.Len(t, g.requests, 1, "a call is never repeated")
		})
	}
}

func TestClassify_everyClassHasAdviceAndEveryCodeAClass(t *testing.T) {
	t.Parallel()
	seen := map[Class]bool{}
	seen[ClassUnknown] = true
	for code, class := range codes {
		require.Equal(t, class, Classify(code))
		seen[class] = true
	}
	for _, class := range []Class{
		ClassToken, ClassAccount, ClassThrottleApp, ClassThrottleNumber, ClassThrottlePair, ClassQuality, ClassTransient,
		ClassWindow, ClassRecipient, ClassRequest, ClassMedia, ClassTemplate, ClassFlow, ClassUnknown,
	} {
		require.True(t, seen[class], class)
	}
	require.Equal(t, Advice{MaybeSent: true, Page: true}, AdviceFor("from the future"))
	require.Equal(t, ClassToken, Classify(250))
	require.Equal(t, ClassAccount, Classify(133016))
	require.Equal(t, ClassUnknown, Classify(-1))
}

func TestClient_retryAfterIsRead(t *testing.T) {
	t.Parallel()
	g := newGraph(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Retry-After", "17")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := g.client(t).Send(t.Context(), hello)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, 17*time.Second, e.RetryAfter)
}

func TestClient_followsNoRedirect(t *testing.T) {
	t.Parallel()
	other := newGraph(t, answers(200, sentAnswer))
	g := newGraph(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	_, err := g.client(t).Send(t.Context(), hello)
	require.ErrorIs(t, err, fault.Unknown)
	require.Empty(t, other.requests)
}

func TestClient_aTimeOutMayHaveBeenSent(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	g := newGraph(t, func(http.ResponseWriter, *http.Request, string) { <-release })
	t.Cleanup(func() { close(release) })
	_, err := g.client(t, func(c *Config) { c.Timeout = 50 * time.Millisecond }).Send(t.Context(), hello)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.MaybeSent)
	require.NotContains(t, err.Error(), ourNumber, "no URL in the error")
}

func TestClient_aRefusedConnectionWasNotSent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	c, err := New(&http.Transport{}, Config{GraphURL: "http://" + address, PhoneNumberID: ourNumber, Token: "t"})
	require.NoError(t, err)
	_, err = c.Send(t.Context(), hello)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.False(t, e.MaybeSent)
	require.ErrorIs(t, err, fault.Unavailable)
}

func TestClient_aLostReplyMayHaveBeenSent(t *testing.T) {
	t.Parallel()
	g := newGraph(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		panic(http.ErrAbortHandler)
	})
	_, err := g.client(t).Send(t.Context(), hello)
	require.ErrorIs(t, err, fault.Unknown)
}

func TestNew_refusesByName(t *testing.T) {
	t.Parallel()
	good := Config{GraphURL: "https://graph.example", PhoneNumberID: ourNumber, Token: "t"}
	tests := []struct {
		name   string
		change func(c *Config)
		want   string
	}{
		{"no URL", func(c *Config) { c.GraphURL = "" }, "GraphURL"},
		{"a file", func(c *Config) { c.GraphURL = "file:///etc" }, "GraphURL"},
		{"a password in the URL", func(c *Config) { c.GraphURL = "https://u:p@graph.example" }, "GraphURL"},
		{"no number", func(c *Config) { c.PhoneNumberID = "" }, "PhoneNumberID"},
		{"a path as number", func(c *Config) { c.PhoneNumberID = "../me" }, "PhoneNumberID"},
		{"no token", func(c *Config) { c.Token = "" }, "Token"},
		{"a version of words", func(c *Config) { c.Version = "latest" }, "Version"},
		{"a minute", func(c *Config) { c.Timeout = time.Minute }, "Timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			tt.change(&cfg)
			_, err := New(http.DefaultTransport, cfg)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := New(nil, good)
	require.ErrorContains(t, err, "transport")
}

func TestClient_uploadsMedia(t *testing.T) {
	t.Parallel()
	g := newGraph(t, answers(200, `{"id":"1908"}`))
	form := make(chan map[string]string, 1)
	g.handle = func(w http.ResponseWriter, r *http.Request, body string) {
		again := r.Clone(context.WithoutCancel(r.Context()))
		again.Body = io.NopCloser(strings.NewReader(body))
		got := map[string]string{"parse": ""}
		if err := again.ParseMultipartForm(1 << 20); err != nil {
			got["parse"] = err.Error()
		} else {
			file := again.MultipartForm.File["file"][0]
			got["product"], got["type"] = again.FormValue("messaging_product"), again.FormValue("type")
			got["name"], got["mime"] = file.Filename, file.Header.Get("Content-Type")
		}
		form <- got
		answers(200, `{"id":"1908"}`)(w, r, body)
	}
	id, err := g.client(t).UploadMedia(t.Context(), "slip\".png", "image/png", []byte("png"))
	require.NoError(t, err)
	require.Equal(t, "1908", id)
	require.Equal(t, "/v25.0/"+ourNumber+"/media", g.requests[0].URL.Path)
	require.Equal(t, map[string]string{"parse": "", "product": "whatsapp", "type": "image/png", "name": "slip_.png", "mime": "image/png"}, <-form)

	_, err = g.client(t).UploadMedia(t.Context(), "x", "image/png", nil)
	require.ErrorIs(t, err, ErrMedia)
	_, err = g.client(t).UploadMedia(t.Context(), "x", "image/png", make([]byte, maxImageBytes+1))
	require.ErrorIs(t, err, ErrMedia)
}

func TestClient_downloadsMedia(t *testing.T) {
	t.Parallel()
	content := []byte("the slip")
	sum := sha256.Sum256(content)
	hexSum, b64Sum := hex.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(sum[:])
	elsewhere := newGraph(t, answers(200, string(content)))
	tests := []struct {
		name, url, hash, size string
		limit                 int64
		want                  error
	}{
		{"hash in hex", "/file", hexSum, "8", 100, nil},
		{"hash in base64", "/file", b64Sum, "8", 100, nil},
		{"exactly the limit", "/file", hexSum, "8", 8, nil},
		{"another hash", "/file", strings.Repeat("0", 64), "8", 100, ErrMedia},
		{"a hash that is none", "/file", "3q2+7wEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEE=", "8", 100, ErrMedia},
		{"no hash", "/file", "", "8", 100, ErrMedia},
		{"says it is too large", "/file", hexSum, "101", 100, ErrMedia},
		{"is too large and does not say", "/file", hexSum, "1", 7, ErrMedia},
		{"another host", elsewhere.URL + "/file", hexSum, "8", 100, ErrMedia},
		{"a list host over http", "http://lookaside.fbsbx.com/file", hexSum, "8", 100, ErrMedia},
		{"a list host on another port", "https://lookaside.fbsbx.com:8443/file", hexSum, "8", 100, ErrMedia},
		{"a host that ends like one of the list", "https://evil-lookaside.fbsbx.com.example/file", hexSum, "8", 100, ErrMedia},
		{"a password before the host", "https://lookaside.fbsbx.com@example.com/file", hexSum, "8", 100, ErrMedia},
		{"no URL", "-", hexSum, "8", 100, ErrMedia},
		{"a file", "file:///etc/passwd", hexSum, "8", 100, ErrMedia},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, nil)
			g.handle = func(w http.ResponseWriter, r *http.Request, body string) {
				if strings.HasSuffix(r.URL.Path, "/file") {
					answers(200, string(content))(w, r, body)
					return
				}
				target := tt.url
				if strings.HasPrefix(target, "/") {
					target = g.URL + target
				}
				answers(200, `{"url":"`+target+`","mime_type":"image/png","sha256":"`+tt.hash+`","file_size":`+tt.size+`}`)(w, r, body)
			}
			got, err := g.client(t).DownloadMedia(t.Context(), "1908", tt.limit)
			if tt.want != nil {
				require.ErrorIs(t, err, tt.want)
				require.Empty(t, got.Content)
				return
			}
			require.NoError(t, err)
			require.Equal(t, Download{MIME: "image/png", Content: content}, got)
			require.Equal(t, "/v25.0/1908", g.requests[0].URL.Path)
			require.Equal(t, ourNumber, g.requests[0].URL.Query().Get("phone_number_id"))
			require.Equal(t, "Bearer test-token", g.requests[1].Header.Get("Authorization"))
		})
	}
	require.Empty(t, elsewhere.requests, "no other host saw the token")
}

func TestClient_downloadRefusesIDsThatAreNone(t *testing.T) {
	t.Parallel()
	g := newGraph(t, answers(200, `{}`))
	for _, id := range []string{"", "../x", "a/b", "a?b", "a b"} {
		_, err := g.client(t).DownloadMedia(t.Context(), id, 10)
		require.ErrorIs(t, err, ErrMedia, id)
	}
	require.Empty(t, g.requests)
}

func TestMaskNumbers_table(t *testing.T) {
	t.Parallel()
	require.Equal(t, "to +… code 131056", maskNumbers("to +2348030000001 code 131056"))
	require.Equal(t, "…", maskNumbers("1234567"))
	require.Equal(t, "123456", maskNumbers("123456"))
	require.Empty(t, maskNumbers(""))
}

func TestConfig_logsNoToken(t *testing.T) {
	t.Parallel()
	require.NotContains(t, Config{Token: "hunter2"}.LogValue().String(), "hunter2")
	require.Equal(t, "masked", byPhone.String())
	require.Equal(t, "masked", byPhone.LogValue().String())
}

func TestError_wrapsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("reset")
	err := failed(cause)
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, err, fault.Unknown)
}
