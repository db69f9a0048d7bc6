package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"offrampbot/services/invariant"
)

func verifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify", Short: "Check every chain, the ledger and all invariants; exit 1 on a difference", Args: noArgs,
		Long: "Check the audit and posting chains, the ledger and every invariant, each order and account in one snapshot, while serve\n" +
			"runs. Each difference is a line with the _id of the document, the rule and what does not hold; then the exit code is 1.",
		Example: "  offrampbot verify\n  offrampbot verify --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, a *app) error {
				checker, err := invariant.New(a.db, a.registry)
				if err != nil {
					return err
				}
				report, err := checker.Verify(ctx)
				if err != nil {
					return err
				}
				return printReport(cmd, report, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print {ok, checked, differences:[{id, rule, text}]}")
	return cmd
}

// printReport says what was checked and what does not hold.
func printReport(cmd *cobra.Command, report invariant.Report, asJSON bool) error {
	if asJSON {
		if err := printJSON(cmd.OutOrStdout(), report); err != nil {
			return err
		}
	} else {
		for _, d := range report.Differences {
			if err := printf(cmd, "%s  %s  %s\n", d.ID, d.Rule, d.Text); err != nil {
				return err
			}
		}
		var counts []string
		for _, name := range slices.Sorted(maps.Keys(report.Checked)) {
			counts = append(counts, fmt.Sprintf("%d %s", report.Checked[name], name))
		}
		if err := printf(cmd, "checked %s: %d differences\n", strings.Join(counts, ", "), len(report.Differences)); err != nil {
			return err
		}
	}
	if !report.OK {
		return errDifference
	}
	return nil
}
