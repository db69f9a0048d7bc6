package user_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

const (
	ada, adaNew   = "2348030000001", "2348090000009"
	adaID, newID  = "NG.70000000000000000001", "NG.70000000000000000002"
	samOld, samID = "US.13491208655302741918", "US.22222222222222222222"
)

func TestArrive_makesOneUserOfManyMessages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		results := make(chan string, 10)
		for range 10 {
			go func() { results <- h.arrive(ada, adaID, "Ada 🌸\u202e").ID }()
		}
		first := <-results
		for range 9 {
			require.Equal(t, first, <-results)
		}
		u := h.load(first)
		require.Equal(t, "Ada", u.Name, "a profile name without ornaments")
		require.Equal(t, "NG", u.Country)
		require.Equal(t, "tier0", u.Tier)
		require.Equal(t, user.New, u.Status)
		require.Nil(t, u.Frozen)
	})
}

func TestArrive_movesTheWindowForwardOnly(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.arrive(ada, "", "")
		at := h.clock.Now()
		h.clock.Advance(-time.Hour) // a message that was delivered late
		require.Equal(t, at, h.arrive(ada, "", "").LastInbound.UTC())
		require.True(t, u.Window(at.Add(24*time.Hour-time.Millisecond)))
		require.False(t, u.Window(at.Add(24*time.Hour)))
	})
}

func TestArrive_knowsAPersonByEitherId(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.arrive(ada, "", "")
		require.Equal(t, u.ID, h.arrive(ada, adaID, "").ID, "the scoped id is learnt")
		require.Equal(t, u.ID, h.arrive("", adaID, "").ID)
		b := h.arrive("", samID, "")
		require.NotEqual(t, u.ID, b.ID)
		require.Equal(t, b.ID, h.arrive("13055550100", samID, "").ID, "the number is learnt")
		require.Equal(t, b.ID, h.arrive("13055550100", "", "").ID)
		require.Nil(t, h.load(u.ID).Frozen)
		require.Error(t, h.update(func(tx store.Tx) error {
			_, err := h.users.Arrive(tx, "", "", "", h.clock.Now())
			return err
		}))
	})
}

func TestArrive_findsTheOtherFormOfANumberAndKeepsTheStoredOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.arrive("5215512345678", "", "")
		again := h.arrive("525512345678", "", "")
		require.Equal(t, u.ID, again.ID)
		require.Equal(t, "5215512345678", again.WhatsAppID)
	})
}

func TestArrive_freezesWhenANumberComesWithAnotherIdentity(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp(ada, adaID)
		got := h.arrive(ada, newID, "Stranger")
		require.Equal(t, u.ID, got.ID)
		require.Equal(t, user.IdentityChanged, h.load(u.ID).Frozen.Why)
		require.Equal(t, newID, h.load(u.ID).ScopedID)
		require.Equal(t, "Ada Obi", h.load(u.ID).Name, "a profile name does not rename who has signed up")
		require.Equal(t, []string{"user.sign_up", "user.freeze"}, h.actions(u.ID))
		h.arrive(ada, newID, "")
		require.Len(t, h.actions(u.ID), 2, "once")
	})
}

func TestArrive_freezesWhoseNumberMovedToAnother(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		owner := h.signedUp(ada, adaID)
		mover := h.signedUp("2348110000000", newID)
		got := h.arrive(ada, newID, "") // the mover writes from the owner's number
		require.Equal(t, mover.ID, got.ID)
		require.Equal(t, ada, h.load(mover.ID).WhatsAppID)
		require.Empty(t, h.load(owner.ID).WhatsAppID)
		require.NotNil(t, h.load(owner.ID).Frozen)
		require.NotNil(t, h.load(mover.ID).Frozen)
	})
}

func TestArrive_joinsTwoHalvesOfOnePerson(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp(ada, "")
		half := h.arrive("", adaID, "")
		require.NotEqual(t, u.ID, half.ID)
		require.Equal(t, u.ID, h.arrive(ada, adaID, "").ID)
		require.Equal(t, u.ID, h.arrive("", adaID, "").ID)
		require.Nil(t, h.load(u.ID).Frozen)
	})
}

func TestArrive_joinsNothingWhenBothHalvesSignedUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u, half := h.signedUp(ada, ""), h.signedUp("", adaID)
		for range 2 {
			require.Equal(t, u.ID, h.arrive(ada, adaID, "").ID)
		}
		require.NotNil(t, h.load(u.ID).Frozen)
		require.NotNil(t, h.load(half.ID).Frozen)
		require.Empty(t, h.load(u.ID).ScopedID)
		require.Equal(t, adaID, h.load(half.ID).ScopedID)
	})
}

func TestArrive_givesARecycledNumberANewUser(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp(ada, adaID)
		h.moved(user.Move{OldWhatsAppID: ada, WhatsAppID: adaNew, PreviousScopedID: adaID, ScopedID: newID})
		stranger := h.arrive(ada, "NG.99", "")
		require.NotEqual(t, u.ID, stranger.ID, "the id of the number's first owner is not used again")
		require.Nil(t, stranger.Frozen)
	})
}

// F7: the business-scoped ids move, payouts of both people are frozen until they give their PIN.
func TestMoved_followsTheSystemMessages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u, sam := h.signedUp(ada, adaID), h.signedUp("", samOld)
		adaMoves := user.Move{OldWhatsAppID: ada, WhatsAppID: adaNew, PreviousScopedID: adaID, ScopedID: newID}
		require.Equal(t, u.ID, h.moved(adaMoves).ID)
		require.Equal(t, sam.ID, h.moved(user.Move{PreviousScopedID: samOld, ScopedID: samID}).ID)

		require.Equal(t, adaNew, h.load(u.ID).WhatsAppID)
		require.Equal(t, newID, h.load(u.ID).ScopedID)
		require.Equal(t, user.IdentityChanged, h.load(u.ID).Frozen.Why)
		require.Equal(t, samID, h.load(sam.ID).ScopedID)
		require.Equal(t, user.IdentityChanged, h.load(sam.ID).Frozen.Why)
		require.Equal(t, u.ID, h.arrive(adaNew, newID, "").ID)

		since := h.load(u.ID).Frozen.Since
		h.clock.Advance(time.Hour)
		require.Nil(t, h.moved(adaMoves), "a repeat is nobody's")
		require.Equal(t, since, h.load(u.ID).Frozen.Since)
	})
}

func TestMoved_displacesWhoHeldTheNewNumber(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u, holder := h.signedUp(ada, adaID), h.signedUp(adaNew, "")
		early := h.arrive("", newID, "") // wrote under the new id before the system message
		h.moved(user.Move{OldWhatsAppID: ada, WhatsAppID: adaNew, PreviousScopedID: adaID, ScopedID: newID})
		require.Empty(t, h.load(holder.ID).WhatsAppID)
		require.NotNil(t, h.load(holder.ID).Frozen)
		require.Empty(t, h.load(early.ID).ScopedID)
		require.Nil(t, h.load(early.ID).Frozen, "who has not signed up has nothing to freeze")
		require.Equal(t, u.ID, h.arrive(adaNew, newID, "").ID)
	})
}

func TestMoved_takesNothingFromAnAccountThatSignedUpUnderTheNewId(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u, second := h.signedUp(ada, adaID), h.signedUp(adaNew, newID)
		h.moved(user.Move{OldWhatsAppID: ada, WhatsAppID: adaNew, PreviousScopedID: adaID, ScopedID: newID})
		require.Equal(t, adaNew, h.load(second.ID).WhatsAppID)
		require.Equal(t, ada, h.load(u.ID).WhatsAppID)
		require.NotNil(t, h.load(u.ID).Frozen)
		require.NotNil(t, h.load(second.ID).Frozen)
	})
}

func TestMoved_leavesTheNextOwnerOfANumberAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		next := h.signedUp(ada, "NG.99")
		require.Nil(t, h.moved(user.Move{OldWhatsAppID: ada, WhatsAppID: adaNew, PreviousScopedID: adaID, ScopedID: newID}))
		require.Equal(t, ada, h.load(next.ID).WhatsAppID)
		require.Nil(t, h.load(next.ID).Frozen)
	})
}

func TestSignUp_allotsEachAddressOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		people := []string{}
		for _, n := range []string{"2348030000001", "2348030000002", "2348030000003", "2348030000004", "2348030000005"} {
			people = append(people, h.arrive(n, "", "").ID)
		}
		results := make(chan error, len(people))
		for _, id := range people {
			go func() {
				results <- again(func() error {
					_, err := h.users.SignUp(t.Context(), id, "Ada Obi", rightPIN)
					return err
				})
			}()
		}
		for range people {
			require.NoError(t, <-results)
		}
		seen := map[int64]bool{}
		for _, id := range people {
			u := h.load(id)
			require.False(t, seen[*u.AddressIndex])
			require.Less(t, *u.AddressIndex, int64(len(people)), "no index is skipped")
			seen[*u.AddressIndex] = true
		}
		var watched []string
		require.NoError(t, h.engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			u, err := user.ByAddress(r, h.load(people[0]).Address)
			require.NoError(t, err)
			require.Equal(t, people[0], u.ID)
			return user.Addresses(r, func(address, _ string) error {
				watched = append(watched, address)
				return nil
			})
		}))
		require.Len(t, watched, len(people))
	})
}

func TestSignUp_twiceChangesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp(ada, "")
		again, err := h.users.SignUp(t.Context(), u.ID, "Eve Other", "583917")
		require.NoError(t, err)
		require.Equal(t, "Ada Obi", again.Name)
		require.Equal(t, u.Address, again.Address)
		require.NoError(t, h.check(u.ID, rightPIN))
		require.Equal(t, []string{"user.sign_up"}, h.actions(u.ID))
	})
}

func TestSignUp_refuses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.arrive("2348030274916", "", "")
		sign := func(id, name string, pin user.TypedPIN) error {
			_, err := h.users.SignUp(t.Context(), id, name, pin)
			return err
		}
		require.True(t, fault.Is(sign(u.ID, "A", "583917"), "name_invalid"))
		require.True(t, fault.Is(sign(u.ID, "Ada Obi", "123456"), "pin_weak"))
		require.True(t, fault.Is(sign(u.ID, "Ada Obi", rightPIN), "pin_weak"), "the end of the own number")
		require.True(t, fault.Is(sign(u.ID, "Ada Obi", "2749"), "pin_format"))
		require.True(t, fault.Is(sign("u_nobody", "Ada Obi", "583917"), "user_unknown"))
		require.Equal(t, user.New, h.load(u.ID).Status)
	})
}

func TestLinks_leadToTheUserWithoutTheNumber(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp(ada, adaID)
		h.moved(user.Move{OldWhatsAppID: ada, WhatsAppID: adaNew, PreviousScopedID: adaID, ScopedID: newID})
		require.NoError(t, h.engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			for _, id := range []string{
				user.PhoneDigest(lookupKey, "+234 803 000 0001"), user.PhoneDigest(lookupKey, adaNew), adaID, newID, u.Address,
			} {
				found, err := store.Related(r, ids.NormalID(id))
				require.NoError(t, err)
				require.Len(t, found, 1, id)
				require.Equal(t, "user:"+u.ID, found[0].Target)
			}
			all, err := store.All[store.Link](r, store.Query{Collection: store.Links, Index: store.ByID})
			for _, l := range all {
				require.NotContains(t, l.ID, ada)
			}
			return err
		}))
	})
}

func TestCleanName_keepsNamesAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	tests := []struct{ typed, want string }{
		{"Ada Obi", "Ada Obi"},
		{"  Ada \t\n Obi ", "Ada Obi"},
		{"O’Brien-Smith Jr.", "O’Brien-Smith Jr."},
		{"Ọlá Adébáyọ̀", "Ọlá Adébáyọ̀"},
		{"Jose\u0301", "José"},
		{"Ada\u202e\u200bObi", "AdaObi"},
		{"محمد علي", "محمد علي"},
		{"", ""}, {"A", ""}, {"12345", ""}, {"Ada *Obi*", ""}, {"Ada http://x.y", ""}, {"<b>Ada", ""}, {"Ada 🌸", ""},
		{"A\u0300\u0301\u0302\u0303da", ""}, {"Ada\xff", ""}, {strings.Repeat("ab", 31), ""}, {strings.Repeat("a", 1<<20), ""},
	}
	for _, tt := range tests {
		got, err := user.CleanName(tt.typed)
		if tt.want == "" {
			require.True(t, fault.Is(err, "name_invalid"), "%q: %q", tt.typed, got)
			continue
		}
		require.NoError(t, err, "%q", tt.typed)
		require.Equal(t, tt.want, got)
	}
}

func FuzzCleanName(f *testing.F) {
	for _, seed := range []string{"Ada Obi", "Jose\u0301", "\u202eabc", "a\x00b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		name, err := user.CleanName(typed)
		if err != nil {
			return
		}
		again, err := user.CleanName(name)
		require.NoError(t, err)
		require.Equal(t, name, again)
	})
}
