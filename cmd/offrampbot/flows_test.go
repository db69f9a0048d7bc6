package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	flowsjson "offrampbot/flows_json"
	"offrampbot/services/sandbox"
	"offrampbot/services/testkit"
)

// TestFlows_publishSubscribesTheAccount publishes every form with the command, and sees what WhatsApp was asked: the key
// first, because a form with an endpoint is not published without one, and the subscription last. An account that is not
// subscribed gets no event, and says nothing about it. Where the subscription is refused, the command fails.
func TestFlows_publishSubscribesTheAccount(t *testing.T) {
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), nil)
	for _, line := range environment(w.file) {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	behind, err := url.Parse(w.world)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(behind)
	const subscription = "POST /" + sandbox.BusinessAccountID + "/subscribed_apps"
	var mu sync.Mutex
	var asked []string
	refuse := false
	graph := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, edge, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/graph/"), "/") // after the version
		mu.Lock()
		asked = append(asked, r.Method+" /"+edge)
		no := refuse && asked[len(asked)-1] == subscription
		mu.Unlock()
		if no {
			http.Error(rw, `{"error":{"message":"no permission","code":200}}`, http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(graph.Close)
	t.Setenv("WHATSAPP_GRAPH_URL", graph.URL+"/graph")
	publish := func() (string, error) {
		var out bytes.Buffer
		root := newRoot()
		root.SetArgs([]string{"flows", "publish", "--account", sandbox.BusinessAccountID, "--endpoint", w.bot + "/webhooks/flows"})
		root.SetOut(&out)
		root.SetErr(io.Discard)
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}

	out, err := publish()
	require.NoError(t, err)
	for _, name := range flowsjson.Names() {
		require.Contains(t, out, name+" published as ")
	}
	mu.Lock()
	key := slices.Index(asked, "POST /"+sandbox.PhoneNumberID+"/whatsapp_business_encryption")
	published := slices.IndexFunc(asked, func(one string) bool { return strings.HasSuffix(one, "/publish") })
	require.Equal(t, len(asked)-1, slices.Index(asked, subscription), "%v", asked)
	require.GreaterOrEqual(t, key, 0, "%v", asked)
	require.Less(t, key, published, "%v", asked)
	refuse = true
	mu.Unlock()

	_, err = publish()
	require.Error(t, err, "a refused subscription is a failure of the command")
}
