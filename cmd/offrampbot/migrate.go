package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"offrampbot/services/store"
)

func migrateCommand() *cobra.Command {
	var drop bool
	cmd := &cobra.Command{
		Use: "migrate", Short: "Add the indexes that this release needs; --drop removes those it does not", Args: noArgs,
		Long: "Add the collections and indexes that this release needs: run it before the release is started. After no process of the\n" +
			"release before runs any more, --drop removes the indexes that nobody needs. Both may be repeated and broken off.",
		Example: "  offrampbot migrate\n  offrampbot migrate --drop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd, func(ctx context.Context, a *app) error { return migrate(ctx, cmd, a, drop) })
		},
	}
	cmd.Flags().BoolVar(&drop, "drop", false, "remove indexes that this release does not declare")
	return cmd
}

// migrate adds what is missing, and only then drops. It does not touch a database of another world or wallet.
func migrate(ctx context.Context, cmd *cobra.Command, a *app, drop bool) error {
	var s stamp
	err := a.db.View(ctx, func(_ context.Context, r store.Reader) error { return r.Get(store.Migrations, stampID, &s) })
	switch {
	case err == nil:
		if err := s.fits(a.cfg, a.book.Fingerprint()); err != nil {
			return err
		}
	case !errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("read the database's stamp: %w", err)
	}
	missing, err := a.db.CompareIndexes(ctx)
	if err != nil {
		return err
	}
	for _, m := range missing {
		if err := printf(cmd, "%s\n", m); err != nil {
			return err
		}
	}
	if err := a.db.EnsureIndexes(ctx); err != nil {
		return fmt.Errorf("add indexes: %w", err)
	}
	if _, err := prepare(ctx, a.db, a.cfg, a.book.Fingerprint()); err != nil { // stamps a new database, and compares again
		return err
	}
	done := fmt.Sprintf("added what was missing (%d)", len(missing))
	if drop {
		if err := a.db.DropExtra(ctx); err != nil {
			return fmt.Errorf("drop indexes: %w", err)
		}
		done += ", dropped what this release does not declare"
	}
	return printf(cmd, "%s\n", done)
}
