package main

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPages_openFromTheDemo signs in with what the demo itself tells: its address, login and present code.
func TestPages_openFromTheDemo(t *testing.T) {
	t.Parallel()
	world := startDemo(t)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	res, err := client.Get(world + "/world/info") //nolint:noctx // a test on loopback
	require.NoError(t, err)
	type login struct {
		Email, Password string
		Code            string `json:"totp_code"`
	}
	var info struct {
		AdminURL           string `json:"admin_url"`
		Operator, Approver login
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&info))
	require.NoError(t, res.Body.Close())
	require.Eventually(t, func() bool {
		res, err := client.Get(info.AdminURL) //nolint:noctx // likewise
		return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}, browserPatience, 25*time.Millisecond, "the bot of the demo starts")
	for _, who := range []login{info.Operator, info.Approver} {
		res, err = client.PostForm(info.AdminURL+"login", url.Values{"email": {who.Email}, "password": {who.Password}, "code": {who.Code}}) //nolint:noctx // likewise
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode, who.Email)
		require.Equal(t, info.AdminURL, res.Request.URL.String())
	}
}
