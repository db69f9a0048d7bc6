package guard

import (
	"strconv"
	"time"

	"offrampbot/services/fault"
)

// Verdict is the answer to a claim.
type Verdict string

// The verdicts.
const (
	// Claimed: go on, check the PIN and place the order.
	Claimed Verdict = "claimed"
	// Own: this very intent was claimed before. Another copy of the submission is at work or has been: nothing is
	// counted or placed again. With Ordered the caller answers what became of the order, else it refuses.
	Own Verdict = "own"
	// Refused: another sale of the same content is in progress or was completed minutes ago.
	Refused Verdict = "refused"
)

// Decision is the answer to a claim and everything that is told about it.
type Decision struct {
	Verdict   Verdict
	State     State         // of the claim that refuses; empty when it is not one that we know
	Intent    string        // whose claim refuses
	Reference string        // human reference of its order; empty when it has none or it cannot be read
	Interval  time.Duration // since that claim's last step, never negative
	Ordered   bool          // the intent that refuses has an order in the store
	TakenOver bool          // Claimed: an abandoned claim was replaced
	FromStore bool          // Redis did not answer; the store decided
	Flow      Text          // what the Flow shows, unless Claimed
	Chat      Text          // what the chat says, unless Claimed
}

// Text is one refusal: its key and arguments in the catalogue, and the English text, which is contract (R55–R58).
type Text struct {
	Key     string
	Args    map[string]string
	English string
}

// Allowed reports whether the caller may go on.
func (d Decision) Allowed() bool { return d.Verdict == Claimed }

// Minutes is the whole number of minutes since the refusing claim's last step, never negative (R59).
func (d Decision) Minutes() int { return int(max(0, d.Interval) / time.Minute) }

// Fault returns the refusal as a classified error, nil when allowed.
func (d Decision) Fault() error {
	switch {
	case d.Allowed():
		return nil
	case d.State == Completed:
		return fault.New("order_completed", nil).
			With("minutes", strconv.Itoa(d.Minutes())).With("reference", d.Reference)
	}
	return fault.New("order_in_progress", nil)
}

// The exact texts of source article 001. The catalogue holds them under the same keys; a test compares.
const (
	flowInProgress = "Transaction already in progress. Please wait for completion."
	chatInProgress = "⏳ Transaction In Progress\n\n" +
		"Your transaction is already being processed. Please wait for completion.\n\n" +
		"Do not submit your PIN again."
)

// flowCompleted leaves the reference out when there is none to give.
func flowCompleted(minutes, reference string) string {
	text := "Transaction already completed " + minutes + " minute(s) ago."
	if reference != "" {
		text += " Reference: " + reference
	}
	return text
}

func chatCompleted(minutes, reference string) string {
	text := "✅ Transaction Already Completed\n\n" +
		"This transaction was already processed successfully " + minutes + " minute(s) ago.\n\n"
	if reference != "" {
		text += "Reference: " + reference + "\n\n"
	}
	return text + "Type *offramp* to start a new transaction."
}

// withTexts fills the refusal texts: completed has its own, everything else is in progress.
func (d Decision) withTexts() Decision {
	if d.Allowed() {
		return d
	}
	if d.State != Completed {
		d.Flow = Text{Key: "guard.flow.in_progress", English: flowInProgress}
		d.Chat = Text{Key: "guard.chat.in_progress", English: chatInProgress}
		return d
	}
	minutes := strconv.Itoa(d.Minutes())
	key, args := "completed_unnamed", map[string]string{"minutes": minutes}
	if d.Reference != "" {
		key, args["reference"] = "completed", d.Reference
	}
	d.Flow = Text{Key: "guard.flow." + key, Args: args, English: flowCompleted(minutes, d.Reference)}
	d.Chat = Text{Key: "guard.chat." + key, Args: args, English: chatCompleted(minutes, d.Reference)}
	return d
}

func parseMillis(s string) (time.Time, error) {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(ms).UTC(), nil
}
