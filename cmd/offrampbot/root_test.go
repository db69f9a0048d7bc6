package main

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// said runs a command line and returns its output and error.
func said(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(io.Discard)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestRoot_unknownCommandsAreMisuseAndNameWhatWasMeant(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"serv"}, `offrampbot has no command "serv"; did you mean serve? See offrampbot --help`},
		{[]string{"nonsense"}, `offrampbot has no command "nonsense". See offrampbot --help`},
		{[]string{"settings", "gett"}, `offrampbot settings has no command "gett"; did you mean get or set? See offrampbot settings --help`},
		{[]string{"flows"}, `offrampbot flows needs a command, see offrampbot flows --help`},
		{[]string{"version", "please"}, `offrampbot version takes no arguments`},
		{[]string{"serve", "--port", "1"}, `unknown flag: --port`},
	} {
		_, err := said(t, tt.args...)
		var misuse *misuseError
		require.ErrorAs(t, err, &misuse, "%v", tt.args)
		require.EqualError(t, err, tt.says)
	}
	out, err := said(t)
	require.NoError(t, err, "alone it explains itself")
	require.Contains(t, out, "serve")
}

func TestListenOn_namesWhatChoosesATakenAddress(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	_, err = said(t, "demo", "--addr", taken.Addr().String())
	require.ErrorContains(t, err, "another process has this address, choose one with --addr")
	_, err = listenOn("nowhere.invalid:1", "HTTP_ADDR")
	require.ErrorContains(t, err, "listen on nowhere.invalid:1 (HTTP_ADDR)")
}

func TestReachable_isAnAddressThatABrowserCanOpen(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "127.0.0.1:0"} {
		l, err := net.Listen("tcp", addr)
		require.NoError(t, err)
		host, _, err := net.SplitHostPort(reachable(l))
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1", host)
		require.NoError(t, l.Close())
	}
}

func TestLoadConfig_refusalSaysWhereToLook(t *testing.T) {
	t.Setenv("APP_ENV", "nowhere")
	_, err := loadConfig()
	require.ErrorContains(t, err, "docs/config.md")
	require.ErrorContains(t, err, "demo")
}
