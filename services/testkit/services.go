package testkit

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Redis returns the address of a real Redis and a random prefix, ending in a colon, for all keys of the test; they are
// deleted with it.
func Redis(t testing.TB) (url, prefix string) {
	t.Helper()
	url, prefix = address("REDIS_URL", ownRedisURL), "test:"+Random(t)+":"
	o, err := redis.ParseURL(url)
	require.NoError(t, err, "REDIS_URL")
	client := redis.NewClient(o)
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		_ = client.Close()
		missing(t, "Redis", "REDIS_URL", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanUpTimeout)
		defer cancel()
		keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			require.NoError(t, client.Del(ctx, keys.Val()).Err())
		}
		require.NoError(t, keys.Err())
		require.NoError(t, client.Close())
	})
	return url, prefix
}

// AnvilURL returns the JSON-RPC address of a real EVM node. All tests share it: who reorganises its chain must cope with
// others who do, by own accounts and contracts, or start a node of its own.
func AnvilURL(t testing.TB) string {
	t.Helper()
	url := address("ANVIL_URL", ownAnvilURL)
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"web3_clientVersion","params":[]}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	require.NoError(t, err, "ANVIL_URL")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		missing(t, "anvil", "ANVIL_URL", err)
	}
	defer func() { require.NoError(t, response.Body.Close()) }()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.True(t, bytes.Contains(answer, []byte("anvil")), "ANVIL_URL is not anvil: %s", answer)
	return url
}
