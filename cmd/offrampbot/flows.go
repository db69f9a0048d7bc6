package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"offrampbot/flows"
	flowsjson "offrampbot/flows_json"
	"offrampbot/services/whatsapp"
)

func flowsCommand() *cobra.Command {
	return group("flows", "Check and publish the WhatsApp Flow documents", flowsCheckCommand(), flowsPublishCommand())
}

func flowsCheckCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check [file.json ...]", Short: "Check Flow documents by WhatsApp's rules: the built-in ones, or files",
		Example: "  offrampbot flows check\n  offrampbot flows check my_flow.json --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			problems, n, err := checkFlows(args)
			if err != nil {
				return err
			}
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), map[string]any{"ok": len(problems) == 0, "documents": n, "problems": problems}); err != nil {
					return err
				}
			} else if err := printProblems(cmd.OutOrStdout(), problems, n); err != nil {
				return err
			}
			if len(problems) > 0 {
				return errDifference
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// checkFlows checks files, or the built-in documents when none is named.
func checkFlows(files []string) (problems []flowsjson.Problem, n int, err error) {
	problems = []flowsjson.Problem{}
	if len(files) == 0 {
		for _, name := range flowsjson.Names() {
			doc, err := flowsjson.Read(name)
			if err != nil {
				return nil, 0, err
			}
			problems = append(problems, flowsjson.Check(name, doc)...)
		}
		return problems, len(flowsjson.Names()), nil
	}
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			return nil, 0, &misuseError{fmt.Errorf("read flow document: %w", err)}
		}
		problems = append(problems, flowsjson.Check(file, doc)...)
	}
	return problems, len(files), nil
}

func printProblems(out io.Writer, problems []flowsjson.Problem, n int) error {
	for _, p := range problems {
		if _, err := fmt.Fprintln(out, p); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d documents, %d problems\n", n, len(problems))
	return err
}

func flowsPublishCommand() *cobra.Command {
	var account, endpoint string
	cmd := &cobra.Command{
		Use: "publish", Short: "Upload the endpoint's key, upload and publish the Flow documents; any validation error is a failure", Args: noArgs,
		Example: "  offrampbot flows publish --account 102000000000001 --endpoint https://bot.example/webhooks/flows",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if account == "" || endpoint == "" {
				return &misuseError{fmt.Errorf("--account and --endpoint are needed")}
			}
			return publishFlows(cmd.Context(), cmd.OutOrStdout(), account, endpoint)
		},
	}
	cmd.Flags().StringVar(&account, "account", "", "WhatsApp Business Account id")
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "public address of /webhooks/flows")
	return cmd
}

func publishFlows(ctx context.Context, out io.Writer, account, endpoint string) error {
	problems, _, err := checkFlows(nil)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("the documents have problems, run `offrampbot flows check`: %s", problems[0])
	}
	cfg, err := loadConfig()
	if err != nil {
		return err
	}
	client, err := whatsapp.New(transport(), whatsapp.Config{
		GraphURL: cfg.WhatsApp.GraphURL, PhoneNumberID: cfg.WhatsApp.PhoneNumberID, Token: cfg.WhatsApp.AccessToken.Reveal(),
	})
	if err != nil {
		return err
	}
	publisher, err := whatsapp.NewFlowPublisher(client, account)
	if err != nil {
		return err
	}
	keys, err := flows.NewKeys(cfg.Flow.PrivateKey.Bytes(), cfg.Flow.PrivateKeyPrevious.Bytes())
	if err != nil {
		return fmt.Errorf("FLOW_PRIVATE_KEY: %w", err)
	}
	public, err := keys.PublicPEM()
	if err != nil {
		return err
	}
	if err := publisher.SetPublicKey(ctx, public); err != nil {
		return err
	}
	names := flowsjson.Names()
	slices.Sort(names)
	for _, name := range names {
		doc, err := flowsjson.Read(name)
		if err != nil {
			return err
		}
		info, err := publisher.Publish(ctx, whatsapp.FlowDocument{Name: name, JSON: doc, EndpointURI: endpoint})
		if err != nil {
			return fmt.Errorf("publish %s: %w", name, err)
		}
		if _, err := fmt.Fprintf(out, "%s published as %s\n", name, info.ID); err != nil {
			return err
		}
	}
	return publisher.Subscribe(ctx)
}
