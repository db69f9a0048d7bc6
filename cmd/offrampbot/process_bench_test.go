//go:build bench

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/testkit"
)

// benchProcess looks at the binary, as a release builds it, and at a `serve` in a process of its own.
func benchProcess(t *testing.T) {
	t.Helper()
	bin := t.TempDir() + "/offrampbot"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "nomsgpack,timetzdata", "-ldflags", "-s -w", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	info, err := os.Stat(bin)
	require.NoError(t, err)
	const mega = 1 << 20
	limited := func(value, limit float64, unit, about string) {
		row("memory", fmt.Sprintf("%.0f%s", limit, unit), fmt.Sprintf("%.1f%s", value, unit), value/limit, 1, atMost, about)
	}
	limited(float64(info.Size())/mega, 45, "MB", "size of the binary")
	uri, database := testkit.Mongo(t)
	redisURL, _ := testkit.Redis(t)
	addr := quietAddress(t)
	w := openWorld(t, "http://"+addr, map[string]string{
		"STORE": "mongo", "MONGO_URI": uri, "MONGO_DATABASE": database, "REDIS_URL": redisURL, "HTTP_ADDR": addr, "INTERNAL_ADDR": quietAddress(t),
	})
	one := &child{t: t, bin: bin, env: plainEnv(environment(w.file)...), addr: addr, log: w.log}
	one.start()
	t.Cleanup(one.kill)
	w.eventually("serve is ready", one.ready)
	time.Sleep(3 * time.Second) // idle, not starting
	idle := resident(t, one.cmd.Process.Pid)
	limited(idle, 80, "MB", "an idle serve")
	exit, said, errs := runBotFor(t, 2*time.Minute, bin, plainEnv(), "load", "--rate", "2", "--duration", "10s", "--world", w.world, "--bot", w.bot, "--block-seconds", "-1", "--bank-seconds", "-1")
	require.Zero(t, exit, said, errs)
	loaded := resident(t, one.cmd.Process.Pid)
	limited(loaded, 250, "MB", "a serve after two sales a second")
	front := quietAddress(t)
	start := time.Now()
	demo := exec.CommandContext(t.Context(), bin, "demo", "--addr", front)
	require.NoError(t, demo.Start())
	w.eventually("demo answers", func() bool {
		res, err := http.Get("http://" + front + "/world/state") //nolint:noctx // a test on loopback
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	})
	took := time.Since(start).Seconds()
	_ = demo.Process.Kill()
	_ = demo.Wait()
	limited(took, 3, "s", "until demo shows its page")
}

// resident is the memory of a process in MB.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	require.True(t, found)
	kilobytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(t, err)
	return kilobytes / 1024
}
