package user_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// mirror seals by writing backwards behind the record's id.
type mirror struct{}

func (mirror) Seal(plain []byte, recordID string) ([]byte, error) {
	return append([]byte(recordID+"|"), backwards(plain)...), nil
}

func (mirror) Open(sealed []byte, recordID string) ([]byte, error) {
	body, ok := bytes.CutPrefix(sealed, []byte(recordID+"|"))
	if !ok {
		return nil, errors.New("sealed for another record")
	}
	return backwards(body), nil
}

func backwards(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := len(b) - 1; i >= 0; i-- {
		out = append(out, b[i])
	}
	return out
}

func account(number payout.AccountNumber) user.Account {
	return user.Account{Fiat: "NGN", BankCode: "058", BankName: "GTBank", Number: number, Name: "ADA OBI"}
}

func TestBeneficiaries_saveOnceAndSealTheNumber(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		b, err := user.NewBeneficiaries(mirror{}, lookupKey, h.clock.Now)
		require.NoError(t, err)
		save := func(userID string, a user.Account) (out *user.Beneficiary) {
			require.NoError(t, h.update(func(tx store.Tx) (err error) {
				out, err = b.Save(tx, userID, a)
				return err
			}))
			return out
		}
		named := account("0123456789")
		named.Nickname = "rent"
		first := save("u_1", named)
		h.clock.Advance(time.Hour)
		second := save("u_1", account("9876543210"))
		h.clock.Advance(time.Hour)
		again := save("u_1", account("0123456789"))
		require.Equal(t, first.ID, again.ID)
		require.Equal(t, first.CreatedAt, again.CreatedAt.UTC(), "the first day does not start anew")
		require.Equal(t, "rent", again.Nickname)
		require.NotContains(t, string(again.Sealed), "0123456789")
		require.Equal(t, "6789", again.Last4)
		other := save("u_2", account("0123456789"))
		require.NotEqual(t, first.ID, other.ID)
		require.Equal(t, first.Digest, other.Digest)

		require.NoError(t, h.engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			list, err := b.List(r, "u_1", 10)
			require.NoError(t, err)
			require.Len(t, list, 2)
			require.Equal(t, first.ID, list[0].ID, "the last used first")
			require.Equal(t, second.ID, list[1].ID)
			number, err := b.Number(list[0])
			require.NoError(t, err)
			require.Equal(t, payout.AccountNumber("0123456789"), number)
			_, err = b.Get(r, "u_2", first.ID)
			require.True(t, fault.Is(err, "beneficiary_unknown"), "another user's is unknown")
			return nil
		}))

		swapped := *other
		swapped.Sealed = first.Sealed
		_, err = b.Number(&swapped)
		require.Error(t, err, "a sealed number belongs to its record")

		require.NoError(t, h.update(func(tx store.Tx) error { return b.Remove(tx, "u_1", first.ID) }))
		require.True(t, fault.Is(h.update(func(tx store.Tx) error { return b.Remove(tx, "u_1", first.ID) }), "beneficiary_unknown"))
		h.clock.Advance(time.Hour)
		require.True(t, save("u_1", account("0123456789")).CreatedAt.After(first.CreatedAt), "a new one has its first day")
	})
}

func TestBeneficiaries_refuseHalfAnAccount(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		b, err := user.NewBeneficiaries(mirror{}, lookupKey, h.clock.Now)
		require.NoError(t, err)
		for code, spoil := range map[string]func(a *user.Account){
			"account_number_invalid": func(a *user.Account) { a.Number = "01234 6789" },
			"bank_unknown":           func(a *user.Account) { a.BankCode = "" },
			"name_invalid":           func(a *user.Account) { a.Name = "" },
		} {
			a := account("0123456789")
			spoil(&a)
			err := h.update(func(tx store.Tx) error {
				_, err := b.Save(tx, "u_1", a)
				return err
			})
			require.True(t, fault.Is(err, code), "%s: %v", code, err)
		}
	})
}
