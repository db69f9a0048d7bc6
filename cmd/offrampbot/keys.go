package main

import (
	"context"

	"github.com/spf13/cobra"

	"offrampbot/flows"
	"offrampbot/services/admin"
	"offrampbot/services/delivery"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

func keysCommand() *cobra.Command {
	return group("keys", "Care for the keys of sealed fields", keysRotateCommand())
}

func keysRotateCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rotate", Short: "Seal every sealed field anew under the first key of FIELD_KEYS", Args: noArgs,
		Long: "Seal every sealed field anew under the first key of FIELD_KEYS. Put the new key in front of the list, restart serve, run\n" +
			"this, then take the old key off the list. It may be broken off and run again: what is under the new key is left alone.\n" +
			"An order whose account number is sealed anew counts as changed, so an approval that is open for it must be asked again.\n" +
			"A field that no key of the list opens is named by the _id of its document, and the exit code is 1.",
		Example: "  FIELD_KEYS=new:…,old:… offrampbot keys rotate",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, a *app) error {
				report, err := rotateKeys(ctx, a.db, a.sealer)
				if err != nil {
					return err
				}
				return printRotation(cmd, report, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print {sealed, left, unreadable:[{collection, id, text}]}")
	return cmd
}

func printRotation(cmd *cobra.Command, report rotation, asJSON bool) error {
	if asJSON {
		if err := printJSON(cmd.OutOrStdout(), report); err != nil {
			return err
		}
	} else {
		for _, u := range report.Unreadable {
			if err := printf(cmd, "%s  %s  %s\n", u.ID, u.Collection, u.Text); err != nil {
				return err
			}
		}
		if err := printf(cmd, "sealed %d fields anew, %d were, %d do not open\n", report.Sealed, report.Left, len(report.Unreadable)); err != nil {
			return err
		}
	}
	if len(report.Unreadable) > 0 {
		return errDifference
	}
	return nil
}

// keyring is what a rotation needs of seal.Keyring.
type keyring interface {
	Seal(plain []byte, record string) ([]byte, error)
	Open(sealed []byte, record string) ([]byte, error)
	NeedsReseal(sealed []byte) bool
}

// rotation is the result of a key rotation.
type rotation struct {
	Sealed     int          `json:"sealed"` // fields sealed anew
	Left       int          `json:"left"`   // fields that were under the active key
	Unreadable []unreadable `json:"unreadable"`
}

// unreadable is a field that no key opens.
type unreadable struct {
	Collection string `json:"collection"`
	ID         string `json:"id"`
	Text       string `json:"text"`
}

// sealedField is one sealed field of a loaded document and the associated data it is bound to.
type sealedField struct {
	value  *[]byte
	record string
}

// rotateKeys walks every collection that holds sealed fields, by id, a snapshot per page and a transaction per document.
func rotateKeys(ctx context.Context, db store.Engine, keys keyring) (rotation, error) {
	r := rotation{Unreadable: []unreadable{}}
	for _, walk := range []func() error{
		func() error {
			return reseal(ctx, db, keys, store.Admins, &r, func(d *admin.Admin) []sealedField {
				return []sealedField{{&d.TOTP, d.ID}}
			})
		},
		func() error {
			return reseal(ctx, db, keys, store.Beneficiaries, &r, func(d *user.Beneficiary) []sealedField {
				return []sealedField{{&d.Sealed, d.ID}}
			})
		},
		func() error {
			return reseal(ctx, db, keys, store.Quotes, &r, func(d *quote.Quote) []sealedField {
				return []sealedField{{&d.Beneficiary.Sealed, d.Beneficiary.Record()}}
			})
		},
		func() error {
			return reseal(ctx, db, keys, store.Orders, &r, func(d *offramp.Order) []sealedField {
				return []sealedField{{&d.Beneficiary.Sealed, d.Beneficiary.Record()}}
			})
		},
		func() error {
			return reseal(ctx, db, keys, store.FlowSessions, &r, func(d *flows.Session) []sealedField {
				return []sealedField{{&d.Secret, d.ID}, {&d.Answer, d.ID}}
			})
		},
		func() error {
			return reseal(ctx, db, keys, store.Inbox, &r, func(d *delivery.Receipt) []sealedField {
				return []sealedField{{&d.Body, d.ID}}
			})
		},
	} {
		if err := walk(); err != nil {
			return r, err
		}
	}
	return r, nil
}
