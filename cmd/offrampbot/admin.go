package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"offrampbot/services/admin"
)

func adminCommand() *cobra.Command {
	return group("admin", "Create staff accounts and tokens", adminCreateCommand(), adminTokenCommand())
}

// hostActor is who acts in the trail when somebody on the host runs a command.
const hostActor = "host"

func adminCreateCommand() *cobra.Command {
	var email, role string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "create", Short: "Create a member of staff; the password comes from standard input", Args: noArgs,
		Long: "Create a member of staff. The password is the first line of standard input, 8 to 256 characters. The one-time secret\n" +
			"for an authenticator app is printed once and cannot be shown again.",
		Example: "  offrampbot admin create --email ada@example.com --role operator < password.txt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := need(cmd, "email", "role"); err != nil {
				return err
			}
			if !slices.Contains(admin.Roles(), admin.Role(role)) {
				return &misuseError{fmt.Errorf("--role must be one of %v", admin.Roles())}
			}
			password, err := readPassword(cmd)
			if err != nil {
				return err
			}
			return withStaff(cmd, func(ctx context.Context, a *app) error {
				made, err := a.staff.Create(ctx, admin.NewAdmin{Email: email, Role: admin.Role(role), Password: password, By: hostActor})
				if err != nil {
					return a.explain(err)
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]string{
						"id": made.ID, "role": role, "totp_secret": made.Secret, "totp_url": made.URL,
					})
				}
				return printf(cmd, "account: %s\nrole: %s\ntotp secret: %s\ntotp url: %s\n", made.ID, role, made.Secret, made.URL)
			})
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "e-mail address, which is the account's id")
	cmd.Flags().StringVar(&role, "role", "", "viewer, support, operator, approver or owner")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// maxPasswordLine bounds what is read from standard input.
const maxPasswordLine = 4096

// readPassword reads one line, without showing it when a person types it.
func readPassword(cmd *cobra.Command) (string, error) {
	in := cmd.InOrStdin()
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if _, err := fmt.Fprint(cmd.ErrOrStderr(), "Password: "); err != nil {
			return "", err
		}
		typed, err := term.ReadPassword(int(f.Fd()))
		if err != nil {
			return "", fmt.Errorf("read password: %w", err)
		}
		_, err = fmt.Fprintln(cmd.ErrOrStderr())
		return string(typed), err
	}
	line, err := bufio.NewReader(io.LimitReader(in, maxPasswordLine)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read password: %w", err)
	}
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		return "", &misuseError{errors.New("no password on standard input")}
	}
	return password, nil
}

func adminTokenCommand() *cobra.Command {
	var email string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "token", Short: "Print a short-lived bearer token for scripts on this host", Args: noArgs,
		Example: `  curl -H "Authorization: Bearer $(offrampbot admin token --email ada@example.com)" http://127.0.0.1:8080/admin/api/v1/orders`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := need(cmd, "email"); err != nil {
				return err
			}
			return withStaff(cmd, func(ctx context.Context, a *app) error {
				token, err := a.staff.Issue(ctx, email)
				if err != nil {
					return a.explain(err)
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"token": token.Text, "id": token.ID, "expires": token.Expires})
				}
				return printf(cmd, "%s\n", token.Text)
			})
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "e-mail address of the account")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, with the time it ends")
	return cmd
}
