package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// built holds the binary while any test that runs processes may need it: with an empty cache one build is long enough.
var built struct {
	once sync.Once
	dir  string
	out  []byte
	err  error
}

// TestMain removes what the tests have built.
func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

// buildBot builds the binary as a release does, without the race detector, once for all tests.
func buildBot(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "offrampbot-test-"); built.err == nil {
			built.out, built.err = exec.Command("go", "build", "-tags", "nomsgpack", "-o", built.dir, ".").CombinedOutput() //nolint:noctx // outlives its first test
		}
	})
	require.NoError(t, built.err, string(built.out))
	return filepath.Join(built.dir, "offrampbot")
}

// plainEnv is what a process needs of the machine; the bot's own variables are the test's.
func plainEnv(own ...string) []string {
	var out []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, there := os.LookupEnv(name); there {
			out = append(out, name+"="+value)
		}
	}
	return append(out, own...)
}

// runBot runs one command to its end.
func runBot(t *testing.T, bin string, env []string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	return runBotFor(t, time.Minute, bin, env, args...)
}

// runBotFor runs one command to its end, which must come within a time.
func runBotFor(t *testing.T, most time.Duration, bin string, env []string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...) //nolint:gosec // the binary that this test built
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// child is one `serve` in a process of its own.
type child struct {
	t    *testing.T
	bin  string
	env  []string
	args []string // after "serve"
	addr string
	log  *safeBuffer
	cmd  *exec.Cmd
	done chan struct{}
}

func (c *child) start() {
	c.t.Helper()
	c.cmd = exec.Command(c.bin, append([]string{"serve"}, c.args...)...) //nolint:gosec,noctx // the binary that this test built; kill ends it
	c.cmd.Env, c.cmd.Stderr = c.env, c.log
	require.NoError(c.t, c.cmd.Start())
	done := make(chan struct{})
	c.done = done
	go func(cmd *exec.Cmd) {
		defer close(done)
		_ = cmd.Wait()
	}(c.cmd)
}

// kill ends the process as a power cut does.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// terminate asks the process to end, as an orchestrator does, waits for it and returns its exit code.
func (c *child) terminate() int {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Signal(syscall.SIGTERM))
	<-c.done
	return c.cmd.ProcessState.ExitCode()
}

func (c *child) ready() bool {
	res, err := http.Get("http://" + c.addr + "/readyz") //nolint:noctx // a test on loopback
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// robot is a person who goes on whatever happens: a tap that was not answered is tapped again. It works in a goroutine
// of its own, so it returns errors instead of ending the test.
type robot struct {
	world string
	phone string
	read  int
}

// call talks to the world API; a client's complaint comes with its body.
func (r *robot) call(ctx context.Context, method, path string, body any) (map[string]any, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, r.world+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	out := map[string]any{}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return out, fmt.Errorf("%s %s: status %d: %v %v", method, path, res.StatusCode, out["error"], out["message"])
	}
	return out, nil
}

func (r *robot) says(ctx context.Context, text string) error {
	_, err := r.call(ctx, "POST", "/world/messages", map[string]any{"from": r.phone, "text": text})
	return err
}

// until repeats a step until it succeeds or the context ends.
func until(ctx context.Context, what string, step func() (done bool, err error)) error {
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := step()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: %w", what, ctx.Err()), err)
		case <-tick.C:
		}
	}
}

// hears waits for a message that was not looked at before.
func (r *robot) hears(ctx context.Context, what string) (got message, err error) {
	err = until(ctx, r.phone+" hears "+what, func() (bool, error) {
		out, err := r.call(ctx, "GET", "/world/chats/"+r.phone, nil)
		if err != nil {
			return false, err
		}
		raw, err := json.Marshal(out["messages"])
		if err != nil {
			return false, err
		}
		var all []message
		if err := json.Unmarshal(raw, &all); err != nil {
			return false, err
		}
		for i, m := range all {
			if i >= r.read && m.Direction == "out" && (strings.Contains(m.Text, what) || m.Flow != nil && m.Flow.Name == what) {
				got, r.read = m, i+1
				return true, nil
			}
		}
		return false, nil
	})
	return got, err
}

// opens opens the form of a message, again until its first screen shows.
func (r *robot) opens(ctx context.Context, m message) (s screen, err error) {
	err = until(ctx, r.phone+" opens a form", func() (bool, error) {
		out, err := r.call(ctx, "POST", "/world/flows/open", map[string]any{"phone": r.phone, "wamid": m.Wamid})
		s = asScreen(out)
		return err == nil && s.Screen != "", err
	})
	return s, err
}

// taps submits a screen, again until one of the wanted ones shows.
func (r *robot) taps(ctx context.Context, s screen, data map[string]any, want ...string) (next screen, err error) {
	err = until(ctx, r.phone+" taps through "+s.Screen, func() (bool, error) {
		out, err := r.call(ctx, "POST", "/world/flows/submit", map[string]any{"session": s.Session, "screen": s.Screen, "data": data})
		next = asScreen(out)
		for _, name := range want {
			if next.Screen == name && err == nil {
				return true, nil
			}
		}
		return false, errors.Join(err, fmt.Errorf("shows %q: %v", next.Screen, next.Data["error_message"]))
	})
	return next, err
}

// ends taps the footer of a terminal screen, which sends the chat message. A second tap finds the form closed.
func (r *robot) ends(ctx context.Context, s screen) {
	_, _ = r.call(ctx, "POST", "/world/flows/submit", map[string]any{"session": s.Session, "screen": s.Screen, "data": map[string]any{}})
}

// joins signs up and funds a balance.
func (r *robot) joins(ctx context.Context, amount string) error {
	if err := r.says(ctx, "hi"); err != nil {
		return err
	}
	m, err := r.hears(ctx, "sign_up")
	if err != nil {
		return err
	}
	s, err := r.opens(ctx, m)
	if err != nil {
		return err
	}
	if s, err = r.taps(ctx, s, map[string]any{"full_name": "Ada Obi", "language": "en"}, "SECURITY_INFO"); err != nil {
		return err
	}
	if s, err = r.taps(ctx, s, map[string]any{"pin": goodPIN, "confirm_pin": goodPIN}, "SUCCESSFUL"); err != nil {
		return err
	}
	r.ends(ctx, s)
	if err := r.says(ctx, "deposit"); err != nil {
		return err
	}
	if m, err = r.hears(ctx, "deposit address"); err != nil {
		return err
	}
	address := m.Text[strings.Index(m.Text, "0x"):][:42]
	_, err = r.call(ctx, "POST", "/world/chains/base/transfers", map[string]any{"to": address, "token": "USDT", "amount": amount})
	if err != nil {
		return err
	}
	_, err = r.hears(ctx, amount+" USDT arrived")
	return err
}

// sells sells an amount to the same account as always; every amount is another sale.
func (r *robot) sells(ctx context.Context, amount int) error {
	if err := r.says(ctx, fmt.Sprintf("sell %d usdt on base", amount)); err != nil {
		return err
	}
	m, err := r.hears(ctx, "offramp_flow")
	if err != nil {
		return err
	}
	s, err := r.opens(ctx, m)
	if err != nil {
		return err
	}
	s, err = r.taps(ctx, s, map[string]any{
		"asset": s.Data["asset"], "sell_amount": s.Data["sell_amount"], "beneficiary": "new", "bank_code": "058", "account_number": "0123456789",
	}, "OFFRAMP_FIAT_REVIEW")
	if err != nil {
		return err
	}
	if s, err = r.taps(ctx, s, nil, "OFFRAMP_CRYPTO_REVIEW"); err != nil {
		return err
	}
	s, err = r.taps(ctx, s, map[string]any{"pin": goodPIN}, "OFFRAMP_SUCCESS", "OFFRAMP_REFUSED", "OFFRAMP_CHECKING")
	if err != nil {
		return err
	}
	if s.Screen == "OFFRAMP_REFUSED" { // the first tap was taken, and its answer was lost with the process
		if text, _ := s.Data["error_message"].(string); !strings.HasPrefix(text, "Transaction already ") {
			return fmt.Errorf("%s was refused: %s", r.phone, text)
		}
	}
	r.ends(ctx, s)
	return nil
}
