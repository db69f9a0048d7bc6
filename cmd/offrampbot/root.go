package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"offrampbot/services/config"
	"offrampbot/services/obs"
	"offrampbot/services/sandbox"
)

// newRoot is the command tree.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "offrampbot",
		Short:         "Sell stablecoins over WhatsApp and receive fiat in the bank, exactly once",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.Args = cobra.ArbitraryArgs // or cobra would answer what it does not know, with the status of a failure
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &misuseError{err} })
	root.AddCommand(
		serveCommand(), demoCommand(), sandboxCommand(), flowsCommand(), adminCommand(), settingsCommand(), migrateCommand(),
		keysCommand(), verifyCommand(), reconcileCommand(), statesCommand(), configCommand(), probeCommand(), loadCommand(),
		versionCommand(),
	)
	return root
}

// noArgs refuses arguments as misuse.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &misuseError{fmt.Errorf("%s takes no arguments", cmd.CommandPath())}
	}
	return nil
}

// unknownCommand refuses a command that does not exist, and names those it may have been meant for.
func unknownCommand(cmd *cobra.Command, name string) error {
	meant := ""
	cmd.SuggestionsMinimumDistance = 2 // letters
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		meant = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return &misuseError{fmt.Errorf("%s has no command %q%s See %s --help", cmd.CommandPath(), name, cmp.Or(meant, "."), cmd.CommandPath())}
}

// loadConfig reads the environment, or reports everything that is wrong with it.
func loadConfig() (*config.Config, error) {
	digests, err := sandbox.SecretDigests()
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(os.Environ(), os.ReadFile, digests)
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be used:\n%w\n%s", err, configHint)
	}
	return cfg, nil
}

// configHint ends every refusal of a configuration.
const configHint = "`offrampbot config` lists every variable (docs/config.md); `offrampbot demo` runs without any"

// newLogger logs JSON lines to standard error.
func newLogger() *slog.Logger { return obs.NewLogger(os.Stderr, slog.LevelInfo) }

// printJSON writes a report for machines.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "offrampbot", version)
			return err
		},
	}
}
