package user_test

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/fault"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

func TestCheckPIN_takesTheRightOneAndCountsTheWrongOnes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		require.NoError(t, h.check(u.ID, rightPIN))
		for left := 4; left > 0; left-- {
			err := h.check(u.ID, wrongPIN)
			require.True(t, fault.Is(err, "pin_wrong"), "%v", err)
			require.Equal(t, fmt.Sprint(left), fault.As(err).Args["left"])
		}
		require.NoError(t, h.check(u.ID, rightPIN), "the right PIN clears the count")
		require.Zero(t, h.load(u.ID).PIN.Failures)
		require.Equal(t, 4, h.load(u.ID).PIN.DayFailures, "but not the day's")
		require.Equal(t, []string{"user.sign_up", "pin.wrong", "pin.wrong", "pin.wrong", "pin.wrong"}, h.actions(u.ID))
	})
}

// S1: count before compare, atomically; 200 parallel wrong PINs are at most five comparisons, a restart keeps the
// counter, and the right PIN as the sixth is refused.
func TestCheckPIN_comparesAtMostFiveOfTwoHundred(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		h.hasher.compared.Store(0)
		second := h.service(user.Config{Queue: 1000}) // another process, which admits all
		third := h.service(user.Config{Queue: 1000})
		results := make(chan error, 200)
		for i := range 200 {
			s := second
			if i%2 == 0 {
				s = third
			}
			go func() {
				results <- again(func() error { return s.CheckPIN(t.Context(), u.ID, wrongPIN, "flow") })
			}()
		}
		for range 200 {
			err := <-results
			require.True(t, fault.Is(err, "pin_wrong") || fault.Is(err, "pin_locked"), "%v", err)
		}
		require.LessOrEqual(t, h.hasher.compared.Load(), int64(5))
		require.Positive(t, h.hasher.compared.Load())

		restarted := h.service(user.Config{})
		err := restarted.CheckPIN(t.Context(), u.ID, rightPIN, "page")
		require.True(t, fault.Is(err, "pin_locked"), "the right PIN no. 6 is refused after a restart: %v", err)
		require.Equal(t, "15", fault.As(err).Args["minutes"])
		require.Equal(t, 15*time.Minute, fault.As(err).RetryAfter)
	})
}

func TestCheckPIN_countsATryThatWasNeverCompared(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		h.hasher.broken = errors.New("pulled the plug")
		require.Error(t, h.check(u.ID, wrongPIN))
		require.Equal(t, 1, h.load(u.ID).PIN.Failures)
	})
}

func TestCheckPIN_locksLongerEachTimeAndBlocksAtTenADay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		fail := func(n int) (last error) {
			for range n {
				last = h.check(u.ID, wrongPIN)
			}
			return last
		}
		err := fail(5)
		require.True(t, fault.Is(err, "pin_locked"), "the fifth says so at once: %v", err)
		h.clock.Advance(14 * time.Minute)
		require.True(t, fault.Is(h.check(u.ID, rightPIN), "pin_locked"))
		h.clock.Advance(time.Minute)
		require.True(t, fault.Is(fail(5), "pin_blocked"), "ten in a day")
		h.clock.Advance(48 * time.Hour)
		require.True(t, fault.Is(h.check(u.ID, rightPIN), "pin_blocked"), "no time lifts a block")

		require.NoError(t, h.update(func(tx store.Tx) error {
			return h.users.UnlockPIN(tx, u.ID, "called back, answered two questions", "staff:eve")
		}))
		require.NoError(t, h.check(u.ID, rightPIN))
		actions := h.actions(u.ID)
		require.Contains(t, actions, "pin.locked")
		require.Contains(t, actions, "pin.blocked")
		require.Equal(t, "pin.unlock", actions[len(actions)-1])
	})
}

func TestCheckPIN_doublesTheLockOverDays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		for _, want := range []time.Duration{15, 30, 60, 120, 240, 480, 960, 1440, 1440} {
			for range 5 {
				require.Error(t, h.check(u.ID, wrongPIN))
			}
			err := h.check(u.ID, rightPIN)
			require.True(t, fault.Is(err, "pin_locked"), "%v", err)
			require.Equal(t, want*time.Minute, fault.As(err).RetryAfter)
			h.clock.Advance(25 * time.Hour) // a new day, so that ten are never reached
		}
		require.NoError(t, h.check(u.ID, rightPIN))
		for range 5 {
			require.Error(t, h.check(u.ID, wrongPIN))
		}
		require.Equal(t, 15*time.Minute, fault.As(h.check(u.ID, rightPIN)).RetryAfter, "the right PIN starts anew")
	})
}

func TestCheckPIN_doesTheSameWorkForNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		fresh := h.arrive("2348030000002", "", "")
		h.hasher.compared.Store(0)
		require.True(t, fault.Is(h.check("u_nobody", rightPIN), "user_unknown"))
		require.True(t, fault.Is(h.check(fresh.ID, rightPIN), "user_not_active"))
		require.True(t, fault.Is(h.check(fresh.ID, "000000"), "user_not_active"), "the decoy opens nothing")
		require.Equal(t, int64(3), h.hasher.compared.Load())
	})
}

func TestCheckPIN_refusesWhatIsNoPINWithoutCounting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		for _, typed := range []user.TypedPIN{"", "123", "1234567", "27491a", " 274916", "２７４９１６", user.TypedPIN(strings.Repeat("1", 1<<20))} {
			require.True(t, fault.Is(h.check(u.ID, typed), "pin_format"))
		}
		require.Zero(t, h.load(u.ID).PIN.Failures)
	})
}

func TestCheckPIN_isBusyBeyondTheQueueAndCountsNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		h.hasher.hold = make(chan struct{})
		small := h.service(user.Config{Parallel: 1, Queue: 1})
		results := make(chan error, 2)
		for range 2 {
			go func() { results <- small.CheckPIN(t.Context(), u.ID, rightPIN, "flow") }()
		}
		for i := 0; h.load(u.ID).PIN.DayFailures < 2; i++ { // until both are counted, so both have their place
			require.Less(t, i, 100_000)
			runtime.Gosched()
		}
		require.True(t, fault.Is(small.CheckPIN(t.Context(), u.ID, rightPIN, "flow"), "pin_busy"))
		_, err := small.SignUp(t.Context(), h.arrive("2348030000009", "", "").ID, "Sam Doe", rightPIN)
		require.True(t, fault.Is(err, "pin_busy"), "%v", err)
		close(h.hasher.hold)
		for range 2 {
			require.NoError(t, <-results)
		}
		require.Zero(t, h.load(u.ID).PIN.DayFailures)
	})
}

func TestCheckPIN_hashesAnewUnderTheActivePepper(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		h.hasher.pepper = "p2"
		require.Error(t, h.check(u.ID, wrongPIN))
		require.Equal(t, "p1", h.load(u.ID).PIN.Pepper, "a wrong PIN changes nothing")
		require.NoError(t, h.check(u.ID, rightPIN))
		require.Equal(t, "p2", h.load(u.ID).PIN.Pepper)
		require.NoError(t, h.check(u.ID, rightPIN))
		hashed := h.hasher.hashed.Load()
		require.NoError(t, h.check(u.ID, rightPIN))
		require.Equal(t, hashed, h.hasher.hashed.Load(), "once is enough")
	})
}

func TestChangePIN_needsTheOldOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		change := func(old, fresh user.TypedPIN) error {
			return h.users.ChangePIN(t.Context(), u.ID, old, fresh, "flow")
		}
		require.True(t, fault.Is(change(wrongPIN, "583917"), "pin_wrong"))
		require.True(t, fault.Is(change(rightPIN, "111111"), "pin_weak"))
		require.True(t, fault.Is(change(rightPIN, rightPIN), "pin_weak"), "a new PIN is another one")
		require.NoError(t, change(rightPIN, "583917"))
		require.Error(t, h.check(u.ID, rightPIN))
		require.NoError(t, h.check(u.ID, "583917"))
	})
}

func TestCheckNewPIN_deniesWhatIsEasyToGuess(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"274916": "", "583917": "", "739164": "",
		"12345": "pin_format", "1234567": "pin_format", "27491x": "pin_format", "": "pin_format", "٢٧٤٩١٦": "pin_format",
		"111111": "pin_weak", "121212": "pin_weak", "123123": "pin_weak", "123456": "pin_weak", "654321": "pin_weak",
		"890123": "pin_weak", "321098": "pin_weak", "112233": "pin_weak", "159753": "pin_weak",
		"230185": "pin_weak", "850123": "pin_weak", "010100": "pin_weak",
		"300071": "pin_weak", // the end of the user's own number
	}
	for pin, want := range tests {
		err := user.CheckNewPIN(user.TypedPIN(pin), "2348090300071")
		if want == "" {
			require.NoError(t, err, pin)
		} else {
			require.True(t, fault.Is(err, want), "%s: %v", pin, err)
		}
	}
}

func TestTypedPIN_printsMaskedEverywhere(t *testing.T) {
	t.Parallel()
	pin := rightPIN
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "pin", pin)
	for _, text := range []string{fmt.Sprint(pin), fmt.Sprintf("%v %+v %#v %s %q", pin, pin, pin, pin, pin), log.String()} {
		require.NotContains(t, text, "274916")
	}
}

func TestCount_neverAllowsMoreThanFiveTriesBetweenLocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := newHarness(t, testkit.Bolt(t, indexes()))
		u := h.signedUp("2348030000001", "")
		tries := []time.Time{}
		for range rapid.IntRange(1, 25).Draw(rt, "tries") {
			h.clock.Advance(time.Duration(rapid.Int64Range(0, int64(40*time.Minute)).Draw(rt, "pause")))
			before := h.hasher.compared.Load()
			require.Error(rt, h.check(u.ID, wrongPIN))
			if h.hasher.compared.Load() > before {
				tries = append(tries, h.clock.Now())
			}
		}
		for i := 5; i < len(tries); i++ {
			require.GreaterOrEqual(rt, tries[i].Sub(tries[i-5]), 15*time.Minute, "six tries within a quarter of an hour")
		}
		for i := 10; i < len(tries); i++ {
			require.GreaterOrEqual(rt, tries[i].Sub(tries[i-10]), 24*time.Hour, "eleven tries within a day")
		}
	})
}
