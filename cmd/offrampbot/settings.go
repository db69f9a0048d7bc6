package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"offrampbot/services/fault"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

func settingsCommand() *cobra.Command {
	return group("settings", "Read and change rates, fees, limits and switches", settingsGetCommand(), settingsSetCommand())
}

// explain turns a refusal into the sentence that staff see.
func (a *app) explain(err error) error {
	f := fault.As(err)
	if f.Code == "internal" {
		return err
	}
	return errors.New(a.texts.Render("en", fault.RowOf(f.Code).Message, f.Args))
}

func settingsGetCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get [name]", Short: "Print every setting, or one", Args: atMostOne,
		Example: "  offrampbot settings get\n  offrampbot settings get rate.USDT.NGN --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd, func(ctx context.Context, a *app) error {
				items, err := a.settingItems(ctx)
				if err != nil {
					return err
				}
				if len(args) == 0 {
					return printSettings(cmd, items, asJSON)
				}
				for _, item := range items {
					if item.Name == args[0] {
						return printSetting(cmd, item, asJSON)
					}
				}
				return &misuseError{fmt.Errorf("no setting %q; there are: %s", args[0], strings.Join(a.settings.Names(), ", "))}
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// atMostOne refuses more than one argument as misuse.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return &misuseError{fmt.Errorf("%s takes at most one name", cmd.CommandPath())}
	}
	return nil
}

func (a *app) settingItems(ctx context.Context) (items []setting.Item, err error) {
	err = a.db.View(ctx, func(_ context.Context, r store.Reader) error {
		s, err := setting.Load(r)
		if err != nil {
			return err
		}
		items = a.settings.List(s)
		return nil
	})
	return items, err
}

func printSettings(cmd *cobra.Command, items []setting.Item, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), map[string]any{"items": items})
	}
	for _, item := range items {
		if err := printf(cmd, "%s=%s\n", item.Name, item.Value); err != nil {
			return err
		}
	}
	return nil
}

func printSetting(cmd *cobra.Command, item setting.Item, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), item)
	}
	return printf(cmd, "%s\n", item.Value)
}

func settingsSetCommand() *cobra.Command {
	var why string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "set name=value …", Short: "Change settings, all or none",
		Example: "  offrampbot settings set rate.USDT.NGN=1512.50 --why 'market moved'\n" +
			"  offrampbot settings set switch.provider.paystack='off:maintenance' --why 'provider told us'",
		RunE: func(cmd *cobra.Command, args []string) error {
			changes, err := readChanges(cmd, args)
			if err != nil {
				return err
			}
			return withStore(cmd, func(ctx context.Context, a *app) error {
				changed, err := a.changeSettings(ctx, why, changes)
				if err != nil {
					return a.explain(err)
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), changed)
				}
				for i, item := range changed.After {
					if err := printf(cmd, "%s: %q → %q\n", item.Name, changed.Before[i].Value, item.Value); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&why, "why", "changed on the host", "the reason, for the audit trail")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print before and after as JSON")
	return cmd
}

// readChanges reads name=value, each name once.
func readChanges(cmd *cobra.Command, args []string) (map[string]string, error) {
	changes := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, &misuseError{fmt.Errorf("%s takes name=value, not %q", cmd.CommandPath(), arg)}
		}
		if _, twice := changes[name]; twice {
			return nil, &misuseError{fmt.Errorf("%s stands there twice", name)}
		}
		changes[name] = value
	}
	if len(changes) == 0 {
		return nil, &misuseError{fmt.Errorf("%s needs name=value", cmd.CommandPath())}
	}
	return changes, nil
}

func (a *app) changeSettings(ctx context.Context, why string, changes map[string]string) (changed setting.Changed, err error) {
	at := now()
	err = a.db.Update(ctx, func(_ context.Context, tx store.Tx) (err error) {
		changed, err = a.settings.Change(tx, "system:"+hostActor, why, changes, at)
		return err
	})
	return changed, err
}
