package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"offrampbot/services/assets"
	"offrampbot/services/chains/evm"
	"offrampbot/services/deposit"
	"offrampbot/services/reconcile"
)

func reconcileCommand() *cobra.Command {
	var asJSON bool
	var days int
	cmd := &cobra.Command{
		Use: "reconcile", Short: "Compare the books with the chains and the providers' statements; exit 1 on a difference", Args: noArgs,
		Long: "Compare what our addresses hold on each chain, and what the payout providers say they paid, with the ledger and the\n" +
			"orders, while serve runs. What is under way is explained; what cannot be explained is a line with the _id concerned, and\n" +
			"then the exit code is 1. A node or provider that does not answer is a difference too: nothing is proven then.",
		Example: "  offrampbot reconcile\n  offrampbot reconcile --days 30 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 || days > 365 {
				return &misuseError{fmt.Errorf("--days must be 1 to 365")}
			}
			return withStore(cmd, func(ctx context.Context, a *app) error {
				r, err := a.reconciler(time.Duration(days) * 24 * time.Hour)
				if err != nil {
					return err
				}
				report, err := r.Reconcile(ctx)
				if err != nil {
					return err
				}
				return printReconciled(cmd, report, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print {ok, checked, differences:[{id, rule, text}], explained:[…]}")
	cmd.Flags().IntVar(&days, "days", 7, "how far back statements are compared")
	return cmd
}

// reconciler makes what compares, from the configuration alone.
func (a *app) reconciler(window time.Duration) (*reconcile.Reconciler, error) {
	addresses, err := deposit.NewBook(a.db, a.book)
	if err != nil {
		return nil, err
	}
	sources := map[string]deposit.Source{}
	for _, chain := range a.registry.Chains() {
		source, err := a.source(chain)
		if err != nil {
			return nil, err
		}
		if source != nil {
			sources[chain.ID] = source
		}
	}
	treasury, err := treasuryOf(a.cfg)
	if err != nil {
		return nil, err
	}
	rail, err := newRail(a.cfg)
	if err != nil {
		return nil, err
	}
	return reconcile.New(reconcile.Deps{
		Engine: a.db, Registry: a.registry, Addresses: addresses, Treasury: treasury, Sources: sources,
		Statements: []reconcile.Statement{rail}, Now: now, Log: a.log,
	}, reconcile.Config{Window: window})
}

// source reads one chain over its configured nodes; nil when it has none.
func (a *app) source(chain assets.Chain) (deposit.Source, error) {
	nodes := a.cfg.ChainURLs[chain.ID]
	if len(nodes) == 0 {
		return nil, nil //nolint:nilnil // nil means "no node" here, on purpose
	}
	urls := make([]string, 0, len(nodes))
	for _, n := range nodes {
		urls = append(urls, n.Reveal())
	}
	return evm.New(evm.Options{Chain: chain.ID, ChainID: chain.ChainID, URLs: urls})
}

func printReconciled(cmd *cobra.Command, report reconcile.Report, asJSON bool) error {
	if asJSON {
		if err := printJSON(cmd.OutOrStdout(), report); err != nil {
			return err
		}
	} else {
		for _, d := range report.Explained {
			if err := printf(cmd, "explained: %s  %s  %s\n", d.ID, d.Rule, d.Text); err != nil {
				return err
			}
		}
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
