package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	flowsjson "offrampbot/flows_json"
	"offrampbot/services/assets"
	"offrampbot/services/config"
	"offrampbot/services/sandbox"
	"offrampbot/webhooks"
)

// newWorld is the simulated world as demo and sandbox run it.
func newWorld(base, botURL string, auto bool, env map[string]string) (*sandbox.World, error) {
	cfg := sandbox.Config{
		Now: now, Log: newLogger(), BaseURL: base, BotURL: botURL, Chains: sandbox.ChainsOf(assets.Sandbox()), Env: env,
		Orders: orderTable(),
	}
	for _, name := range flowsjson.Names() {
		doc, err := flowsjson.Read(name)
		if err != nil {
			return nil, err
		}
		cfg.Flows = append(cfg.Flows, sandbox.FlowDocument{Name: name, JSON: doc})
	}
	if auto {
		cfg.ChainAuto, cfg.BankAuto = 2*time.Second, 3*time.Second
	}
	return sandbox.New(cfg)
}

func sandboxCommand() *cobra.Command {
	var addr, botURL, envFile string
	var auto bool
	cmd := &cobra.Command{
		Use: "sandbox", Short: "Run a simulated world: WhatsApp, a bank, chains and the phone page", Args: noArgs,
		Long: "Run a simulated world in front of an unmodified bot: Meta's Graph API, Paystack, one JSON-RPC chain per chain of the\n" +
			"registry, the world API and the phone page. It writes the environment that `serve` needs.",
		Example: "  offrampbot sandbox --auto --addr 127.0.0.1:9090 --bot-url http://127.0.0.1:8080 --env-file sandbox.env\n" +
			"  set -a; . ./sandbox.env; STORE=embedded DATA_DIR=/tmp/offramp offrampbot serve",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSandbox(cmd.Context(), cmd.OutOrStdout(), addr, botURL, envFile, auto)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:9090", "address to serve on; loopback unless you name another")
	cmd.Flags().StringVar(&botURL, "bot-url", "http://127.0.0.1:8080", "where the bot is; webhooks go below it")
	cmd.Flags().StringVar(&envFile, "env-file", "", "file to write the bot's environment to")
	cmd.Flags().BoolVar(&auto, "auto", false, "mine and settle by themselves, as in demo; without it both wait for the levers")
	return cmd
}

// refuseProduction keeps the simulated world away from real money.
func refuseProduction() error {
	if env := os.Getenv("APP_ENV"); env != "" && env != string(config.Sandbox) {
		return &misuseError{fmt.Errorf("APP_ENV is %s: the sandbox only runs with APP_ENV=sandbox or without it", env)}
	}
	return nil
}

func runSandbox(ctx context.Context, out io.Writer, addr, botURL, envFile string, auto bool) error {
	if err := refuseProduction(); err != nil {
		return err
	}
	listener, err := listenOn(addr, "--addr")
	if err != nil {
		return err
	}
	base := "http://" + reachable(listener)
	world, err := newWorld(base, botURL, auto, storeEnv())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if envFile != "" {
		if err := os.WriteFile(envFile, world.EnvFile(), 0o600); err != nil {
			return errors.Join(fmt.Errorf("write env file: %w", err), listener.Close())
		}
	}
	if err := announce(out, base, botURL); err != nil {
		return errors.Join(err, listener.Close())
	}
	return serveWorld(ctx, world, listener)
}

// storeEnv passes on what says where the bot keeps its documents.
func storeEnv() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "STORE", "DATA_DIR", "MONGO_URI", "MONGO_DATABASE", "REDIS_URL":
			env[name] = value
		}
	}
	return env
}

// announce prints what a person needs to begin.
func announce(out io.Writer, base, botURL string) error {
	operator, approver := sandbox.DefaultOperator(), sandbox.DefaultApprover()
	_, err := fmt.Fprintf(out, `
  Phone page   %s/
  World API    %s/world/state
  Bot          %s
  Staff pages  %s/admin/
  Operator     %s  password %s  TOTP secret %s
  Second       %s  password %s  TOTP secret %s

  The panel beside the phone shows the one-time codes of the moment. Ctrl-C ends it.

`, base, base, botURL, botURL, operator.Email, operator.Password, operator.TOTP, approver.Email, approver.Password, approver.TOTP)
	return err
}

// serveWorld runs the world until ctx ends.
func serveWorld(ctx context.Context, world *sandbox.World, listener net.Listener) error {
	server := webhooks.NewServer(world.Handler(), newLogger())
	server.WriteTimeout = 0 // the event stream stays open
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		if err := world.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return g.Wait()
}
