package bot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/testkit"
)

func TestDocument_isCommitted(t *testing.T) {
	t.Parallel()
	testkit.Golden(t, "../../docs/conversation.md", []byte(Document()))
}

func TestConversation_hasOneRuleForEveryStepAndSaying(t *testing.T) {
	t.Parallel()
	count := map[[2]string]int{}
	for _, r := range conversation {
		require.Contains(t, Steps(), r.At)
		require.Contains(t, Sayings(), r.Said)
		require.NotEmpty(t, r.Do)
		require.True(t, r.To == Stay || slices.Contains(Steps(), r.To), "%s leads to %q", r.Said, r.To)
		count[[2]string{string(r.At), string(r.Said)}]++
	}
	for _, at := range Steps() {
		for _, said := range Sayings() {
			require.Equal(t, 1, count[[2]string{string(at), string(said)}], "%s at %s", said, at)
		}
	}
	require.Len(t, conversation, len(Steps())*len(Sayings()))
	require.Equal(t, Rule{"elsewhere", "gibberish", DoUnknown, Idle}, Next("elsewhere", "gibberish"))
}

func TestConversation_everyStepIsReachedAndLeft(t *testing.T) {
	t.Parallel()
	reached := map[Step]bool{Stranger: true}
	for grew := true; grew; {
		grew = false
		for _, r := range conversation {
			if reached[r.At] && !reached[Next(r.At, r.Said).To] {
				reached[Next(r.At, r.Said).To], grew = true, true
			}
		}
	}
	for _, at := range Steps() {
		require.True(t, reached[at], "nothing leads to %s", at)
		require.True(t, slices.ContainsFunc(conversation, func(r Rule) bool {
			return r.At == at && Next(at, r.Said).To != at
		}), "nothing leads away from %s", at)
	}
}

// A lost step makes the chat Idle: what the bot does about a message must not depend on it.
func TestConversation_aLostStepChangesNothingThatTheBotDoes(t *testing.T) {
	t.Parallel()
	for _, said := range Sayings() {
		for _, at := range Steps()[1:] {
			require.Equal(t, Next(Idle, said).Do, Next(at, said).Do, "%s at %s", said, at)
		}
	}
}

func TestConversation_strangersReachNothingAboutMoney(t *testing.T) {
	t.Parallel()
	harmless := []Topic{
		DoSignUp, DoHelp, DoRate, DoSupport, DoStop, DoWelcome, DoSensitive, DoNothing, DoTooMuch, DoSlowDown,
	}
	for _, said := range Sayings() {
		r := Next(Stranger, said)
		require.Contains(t, harmless, r.Do, said)
		require.Equal(t, said == SaidSignedUp, r.To != Stranger, "only signing up makes a stranger a user, not %s", said)
	}
}

func TestConversation_onlyAButtonOfOneOrderCancelsIt(t *testing.T) {
	t.Parallel()
	for _, r := range conversation {
		require.Equal(t, r.Said == SaidYesCancel && r.At != Stranger, r.Do == DoCancel, "%s at %s", r.Said, r.At)
	}
	for _, at := range Steps() {
		require.Equal(t, Rule{at, SaidNothing, DoNothing, at}, Next(at, SaidNothing), "a thumb confirms nothing (P58)")
	}
}

func TestConversation_anyOrderOfMessagesEndsInALegalStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at, signedUp := Stranger, false
		for _, said := range rapid.SliceOf(rapid.SampledFrom(Sayings())).Draw(t, "said") {
			r := Next(at, said)
			if r.At != at || r.Said != said {
				t.Fatalf("%s at %s has the rule %v", said, at, r)
			}
			at = r.To
			signedUp = signedUp || said == SaidSignedUp
			if !slices.Contains(Steps(), at) || (at == Stranger) == signedUp {
				t.Fatalf("after %s the chat is %s", said, at)
			}
		}
	})
}
