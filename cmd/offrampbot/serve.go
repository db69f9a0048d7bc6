package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/config"
	"offrampbot/webhooks"
)

func serveCommand() *cobra.Command {
	var drain time.Duration
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the bot", Args: noArgs,
		Long: "Run the bot: the webhooks, the workers and the admin API. The configuration comes from the environment, see docs/config.md.\n" +
			"Any number of processes may share one MongoDB and one Redis.",
		Example: "  set -a; . ./offramp.env; offrampbot serve",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, tune{drain: drain})
		},
	}
	cmd.Flags().DurationVar(&drain, "drain", 5*time.Second, "how long /readyz says no before connections are refused")
	return cmd
}

// serve runs the bot until ctx ends.
func serve(ctx context.Context, cfg *config.Config, t tune) error {
	a, err := newApp(ctx, cfg, t)
	if err != nil {
		return err
	}
	a.log.InfoContext(ctx, "starting", append([]any{"version", version}, cfg.Attrs()...)...)
	if cfg.App.Env == config.Sandbox {
		if err := a.seedSandbox(ctx); err != nil {
			return errors.Join(err, a.close(ctx))
		}
	}
	debug.FreeOSMemory() // what the start needed, hashing above all, goes back at once instead of within minutes
	err = errors.Join(a.run(ctx), a.close(ctx))
	a.log.InfoContext(ctx, "stopped", "clean", err == nil)
	return err
}

// shutdown bounds how long requests in hand may take at the end.
const shutdown = 20 * time.Second

// run serves and works until ctx ends or something fails: first no new requests, then the workers stop, softly first.
func (a *app) run(ctx context.Context) error {
	if _, err := a.health.step(ctx); err != nil { // until the clock was compared nothing is taken in or worked on
		return err
	}
	servers, err := a.listen()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	workers, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	for _, s := range servers {
		g.Go(func() error {
			if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
			}
			return nil
		})
	}
	g.Go(func() error { return a.runWorkers(workers) })
	g.Go(func() error {
		defer stopWorkers()
		<-ctx.Done()
		a.log.Info("stopping")
		a.health.stop()
		time.Sleep(a.drain) // who balances the load must have seen it before connections are refused
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), shutdown, errors.New("requests took too long to finish"))
		defer cancel()
		var errs []error
		for _, s := range servers {
			errs = append(errs, s.server.Shutdown(ctx))
		}
		return errors.Join(errs...)
	})
	a.log.InfoContext(ctx, "ready", "addr", servers[0].listener.Addr().String())
	return g.Wait()
}

// lastAnswers ends a connection with its answer once the process is about to stop. Whoever keeps connections open thereby
// moves to another process during the drain, while nothing is refused yet. Without it a request that is sent along a kept
// connection at the moment of the shutdown would be lost, and net/http's own switch has the same moment: it closes what is
// idle at once.
func (a *app) lastAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.health.stopping() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// listenOn opens an address that was chosen by a flag or a variable, which the error names when somebody else has it.
func listenOn(addr, by string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: another process has this address, choose one with %s: %w", addr, by, err)
	case err != nil:
		return nil, fmt.Errorf("listen on %s (%s): %w", addr, by, err)
	}
	return listener, nil
}

// reachable is the address at which this machine reaches a listener: one that listens everywhere is on loopback too.
func reachable(listener net.Listener) string {
	tcp, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return listener.Addr().String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

type listening struct {
	server   *http.Server
	listener net.Listener
}

// listen opens every address before anything runs, so that a taken port stops the start.
func (a *app) listen() ([]listening, error) {
	var out []listening
	for _, l := range []struct {
		addr, by string
		handler  http.Handler
	}{
		{a.cfg.HTTP.Addr, "HTTP_ADDR", a.edge.Public}, {a.cfg.HTTP.InternalAddr, "INTERNAL_ADDR", a.edge.Internal},
		{a.cfg.HTTP.MetricsAddr, "METRICS_ADDR", a.edge.Metrics},
	} {
		if l.addr == "" {
			continue
		}
		listener, err := listenOn(l.addr, l.by)
		if err != nil {
			for _, o := range out {
				err = errors.Join(err, o.listener.Close())
			}
			return nil, err
		}
		out = append(out, listening{webhooks.NewServer(a.lastAnswers(l.handler), a.log), listener})
	}
	return out, nil
}
