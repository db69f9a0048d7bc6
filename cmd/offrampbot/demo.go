package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/assets"
	"offrampbot/services/config"
	"offrampbot/services/obs"
	"offrampbot/services/store/bolt"
)

func demoCommand() *cobra.Command {
	var addr, logFile string
	cmd := &cobra.Command{
		Use: "demo", Short: "Run bot and world in one process: open the phone page and sell", Args: noArgs,
		Long: "Run the bot and a simulated world in one process on embedded engines. Nothing is kept when it ends.\n" +
			"Open the phone page that it prints, write \"hi\" and sell.",
		Example: "  offrampbot demo\n  offrampbot demo --addr 127.0.0.1:9090",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), cmd.OutOrStdout(), addr, logFile)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:9090", "address of the phone page; loopback unless you name another")
	cmd.Flags().StringVar(&logFile, "log", "", "file for the bot's log; empty: warnings and errors on standard error")
	return cmd
}

// demoLogger keeps the terminal readable: everything goes to the file, or only what a person must see to standard error.
func demoLogger(path string) (*slog.Logger, io.Closer, error) {
	if path == "" {
		return obs.NewLogger(os.Stderr, slog.LevelWarn), io.NopCloser(nil), nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open log file: %w", err)
	}
	return obs.NewLogger(f, slog.LevelInfo), f, nil
}

func runDemo(ctx context.Context, out io.Writer, addr, logFile string) error {
	if err := refuseProduction(); err != nil {
		return err
	}
	log, closer, err := demoLogger(logFile)
	if err != nil {
		return err
	}
	defer func() { _ = closer.Close() }() // the last lines are not worth an error
	world, err := listenOn(addr, "--addr")
	if err != nil {
		return err
	}
	public, internal, err := freeAddresses()
	if err != nil {
		return errors.Join(err, world.Close())
	}
	base, botURL := "http://"+reachable(world), "http://"+public
	w, err := newWorld(base, botURL, true, map[string]string{
		"STORE": "embedded", "HTTP_ADDR": public, "INTERNAL_ADDR": internal, "CHAIN_POLL": "1s",
	})
	if err != nil {
		return errors.Join(err, world.Close())
	}
	cfg, err := config.Load(environment(w.EnvFile()), os.ReadFile, nil)
	if err != nil {
		return errors.Join(err, world.Close())
	}
	db, err := bolt.Open(bolt.Options{Indexes: indexes(), Now: time.Now})
	if err != nil {
		return errors.Join(err, world.Close())
	}
	if err := announce(out, base, botURL); err != nil {
		return errors.Join(err, world.Close(), db.Close(ctx))
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveWorld(ctx, w, world) })
	g.Go(func() error { return serve(ctx, cfg, tune{db: db, log: log, registry: assets.Sandbox()}) })
	err = g.Wait()
	if err == nil {
		_, err = fmt.Fprintln(out, "  Stopped; nothing was kept.")
	}
	return err
}

// freeAddresses picks two loopback addresses for the bot of a demo.
func freeAddresses() (public, internal string, err error) {
	var out []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		out = append(out, l.Addr().String())
		if err := l.Close(); err != nil {
			return "", "", err
		}
	}
	return out[0], out[1], nil
}

// environment reads the lines of an environment file.
func environment(file []byte) []string {
	var out []string
	for line := range bytes.Lines(file) {
		name, value, ok := strings.Cut(strings.TrimSpace(string(line)), "=")
		if ok {
			out = append(out, name+"="+strings.ReplaceAll(strings.Trim(value, `"`), `\n`, "\n"))
		}
	}
	return out
}
