package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"offrampbot/bot"
	"offrampbot/services/config"
	"offrampbot/services/offramp"
)

func statesCommand() *cobra.Command {
	var asJSON, conversation bool
	cmd := &cobra.Command{
		Use: "states", Short: "Print the order table, its picture and the full matrix", Args: noArgs,
		Example: "  offrampbot states > docs/order-states.md\n  offrampbot states --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case asJSON:
				return printJSON(cmd.OutOrStdout(), map[string]any{"rows": offramp.Rows()})
			case conversation:
				_, err := io.WriteString(cmd.OutOrStdout(), bot.Document())
				return err
			default:
				_, err := io.WriteString(cmd.OutOrStdout(), offramp.Document())
				return err
			}
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the rows as JSON")
	cmd.Flags().BoolVar(&conversation, "conversation", false, "print the conversation table instead")
	return cmd
}

func configCommand() *cobra.Command {
	var example bool
	cmd := &cobra.Command{
		Use: "config", Short: "Check the environment and print the effective configuration, secrets as set or not set", Args: noArgs,
		Example: "  offrampbot config\n  offrampbot config --example > .env.example",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if example {
				_, err := io.WriteString(cmd.OutOrStdout(), config.Example())
				return err
			}
			cfg, err := loadConfig()
			if err != nil {
				return err
			}
			for _, line := range cfg.Summary() {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&example, "example", false, "print an example environment file instead")
	return cmd
}
