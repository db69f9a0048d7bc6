package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// An operator's command opens only what it needs, in the order of newApp: configuration, leaves, store.

// withStore runs an operator's command on the configured store, which must be ready for this release.
func withStore(cmd *cobra.Command, run func(ctx context.Context, a *app) error) error {
	return withDatabase(cmd, func(ctx context.Context, a *app) error {
		if _, err := prepare(ctx, a.db, a.cfg, a.book.Fingerprint()); err != nil {
			return err
		}
		return run(ctx, a)
	})
}

// withDatabase runs a command on the configured store as it is, and closes it.
func withDatabase(cmd *cobra.Command, run func(ctx context.Context, a *app) error) (err error) {
	cfg, err := loadConfig()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	a := &app{cfg: cfg, log: newLogger()}
	if err := a.openLeaves(ctx, tune{}); err != nil {
		return err
	}
	if a.db, err = openStore(ctx, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close(ctx)) }()
	return run(ctx, a)
}

// withStaff is withStore with the people in it.
func withStaff(cmd *cobra.Command, run func(ctx context.Context, a *app) error) error {
	return withStore(cmd, func(ctx context.Context, a *app) error {
		if err := a.openPeople(ctx, tune{}); err != nil {
			return err
		}
		return run(ctx, a)
	})
}

// need refuses a command line that lacks a flag.
func need(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f == nil || f.Value.String() == "" {
			return &misuseError{fmt.Errorf("%s needs --%s", cmd.CommandPath(), name)}
		}
	}
	return nil
}

// printf writes to the command's output.
func printf(cmd *cobra.Command, format string, args ...any) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), format, args...)
	return err
}

// group is a command that only holds others: alone it is misuse.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return &misuseError{fmt.Errorf("%s needs a command, see %s --help", cmd.CommandPath(), cmd.CommandPath())}
	}}
	cmd.AddCommand(commands...)
	return cmd
}
