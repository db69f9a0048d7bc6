package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// probeTime bounds one question to the process.
const probeTime = 3 * time.Second

// probeCommand is the health check of the image, which has no shell and no other program to ask with.
func probeCommand() *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use: "probe", Short: "Ask the serve of this environment whether it lives; exit 1 when it does not", Args: noArgs,
		Long: "Ask GET /healthz of HTTP_ADDR, or /readyz with --ready, on this machine. It needs nothing else of the environment.\n" +
			"The exit code is 0 for 200, and 1 for any other answer or none.",
		Example: "  offrampbot probe\n  offrampbot probe --ready",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			return probe(cmd.Context(), os.Getenv("HTTP_ADDR"), path)
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it is ready for traffic")
	return cmd
}

// probe asks a listener on this machine.
func probe(ctx context.Context, listens, path string) error {
	if listens == "" {
		listens = ":8080" // the default of HTTP_ADDR
	}
	host, port, err := net.SplitHostPort(listens)
	if err != nil {
		return &misuseError{fmt.Errorf("HTTP_ADDR: %w", err)}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTime, errors.New("no answer in time"))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("make probe: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is this machine
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", path, err)
	}
	if err := resp.Body.Close(); err != nil {
		return fmt.Errorf("ask %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, resp.Status)
	}
	return nil
}
