package flows

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/user"
)

// name fills the first screen of the sign-up form.
func name(typed string) map[string]any { return map[string]any{"full_name": typed, "language": "en"} }

func pins2(first, second string) map[string]any {
	return map[string]any{"pin": first, "confirm_pin": second}
}

func TestSignUp_fromTheFormToAnAccount(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.stranger()
		c := p.opens("sign_up", nil)
		require.Equal(t, SecurityInfo, c.submit(name("  Ada   Obi ")).Screen)
		a := c.submit(pins2(rightPIN, rightPIN))
		require.Equal(t, SignedUp, a.Screen)
		require.Equal(t, "Welcome, Ada Obi", a.text("heading"))
		u := p.load()
		require.Equal(t, user.Active, u.Status)
		require.Equal(t, "Ada Obi", u.Name)
		p.sells("25")
		w.wantsQuiet(c.token)
	})
}

func TestSignUp_twentyCopiesAreOneAccountAndOneAnswer(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.stranger()
		c := p.opens("sign_up", nil)
		c.submit(name("Ada Obi"))
		for _, a := range concurrently(t, 20, func(t *testing.T) shown {
			t.Helper()
			return c.raw(SecurityInfo, pins2(rightPIN, rightPIN))
		}) {
			require.Equal(t, 200, a.Status)
			require.Equal(t, SignedUp, a.Screen)
		}
		require.Equal(t, 1, p.trail("user.sign_up"))
		require.Equal(t, int64(0), *p.load().AddressIndex, "one address was allotted")
	})
}

func TestSignUp_whoHasAnAccountKeepsTheirPIN(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.stranger()
	c := p.opens("sign_up", nil)
	c.submit(name("Ada Obi"))
	second := p.opens("sign_up", nil) // the message was sent twice
	require.Equal(t, SignedUp, c.submit(pins2(rightPIN, rightPIN)).Screen)
	require.Contains(t, second.submit(name("Somebody Else")).text("error_message"), "account already")
	require.Equal(t, SignedUp, second.raw(SecurityInfo, pins2("271828", "271828")).Screen)
	require.Equal(t, "Ada Obi", p.load().Name)
	p.sells("25")
	third := p.receives("sign_up", nil)
	require.Equal(t, SignedUp, third.init().Screen)
	require.Equal(t, SignedUp, third.init().Screen, "the bubble may be opened again")
}

func TestSignUp_aPINIsOnlyTakenOnItsScreen(t *testing.T) {
	t.Parallel()
	p := onBolt(t).stranger()
	c := p.receives("sign_up", nil)
	for _, screen := range []string{SecurityInfo, SignedUp, "NOWHERE", ""} {
		a := c.raw(screen, map[string]any{"full_name": "Ada Obi", "pin": rightPIN, "confirm_pin": rightPIN})
		require.Equal(t, PersonalInfo, a.Screen, screen)
	}
	require.Equal(t, user.New, p.load().Status)
}

func TestSignUp_saysWhatIsWrongAtItsField(t *testing.T) {
	t.Parallel()
	p := onBolt(t).stranger()
	c := p.opens("sign_up", nil)
	for _, typed := range []string{"", "A", "*bold*", "http://evil.example/x", strings.Repeat("a", 61), "\u202e\u200b"} {
		a := c.submit(name(typed))
		require.Equal(t, PersonalInfo, a.Screen, "%q", typed)
		require.Equal(t, "Your full name, in letters", a.text("full_name_error"))
		require.NotContains(t, a.text("full_name"), "*")
	}
	require.Equal(t, PersonalInfo, c.submit(map[string]any{"full_name": []string{"Ada Obi"}}).Screen)
	require.Equal(t, SecurityInfo, c.submit(name("Ada Obi")).Screen)
	for _, tt := range []struct{ first, second, field, slot string }{
		{rightPIN, wrongPIN, "confirm_pin_error", "The two PINs differ"},
		{"123456", "123456", "pin_error", "Too easy to guess"},
		{"48291", "48291", "pin_error", "6 digits are needed"},
		{"", "", "pin_error", "6 digits are needed"},
		{"abcdef", "abcdef", "pin_error", "6 digits are needed"},
	} {
		a := c.submit(pins2(tt.first, tt.second))
		require.Equal(t, SecurityInfo, a.Screen)
		require.Equal(t, tt.slot, a.text(tt.field))
		if tt.first != "" {
			require.NotContains(t, a.Raw, tt.first)
		}
	}
	require.Equal(t, PersonalInfo, c.post(ActionBack, SecurityInfo, nil).Screen)
	require.Equal(t, SignedUp, c.submit(pins2(rightPIN, rightPIN)).Screen)
}

// brokenPeople sign nobody up.
type brokenPeople struct{ err error }

func (b brokenPeople) SignUp(_ context.Context, _, _ string, _ user.TypedPIN) (*user.User, error) {
	return nil, b.err
}

func TestSignUp_busyAndBrokenMayBeSentAgain(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.stranger()
	form, ok := w.endpoint.d.Flows["sign_up"].(*SignUp)
	require.True(t, ok)
	people := form.people
	c := p.opens("sign_up", nil)
	c.submit(name("Ada Obi"))
	form.people = brokenPeople{fault.New("pin_busy", nil)}
	require.Equal(t, "Not counted, send again", c.submit(pins2(rightPIN, rightPIN)).text("pin_error"))
	form.people = brokenPeople{fault.New("user_not_active", nil)}
	require.Equal(t, "See the note at the top", c.submit(pins2(rightPIN, rightPIN)).text("pin_error"))
	form.people = brokenPeople{errBroken}
	require.Equal(t, 500, c.submit(pins2(rightPIN, rightPIN)).Status)
	form.people = people
	require.Equal(t, SignedUp, c.submit(pins2(rightPIN, rightPIN)).Screen)
	w.wantsQuiet(c.token)
}
