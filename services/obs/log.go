package obs

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

const mask = "****"

// NewLogger returns a logger that writes JSON lines to w, with the ids of the context and without secrets.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(NewHandler(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: Redact})))
}

// handler adds the ids of the context to each line.
type handler struct{ slog.Handler }

// NewHandler wraps a handler so that every line carries the ids that With put into its context.
func NewHandler(next slog.Handler) slog.Handler { return handler{next} }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if add := attrs(ctx); len(add) > 0 {
		r = r.Clone()
		r.AddAttrs(add...)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }

var (
	// hidden: attributes whose value is never shown, whatever it looks like.
	hidden = regexp.MustCompile(`(^|_)(pin|password|passcode|secret|token|authorization|cookie|totp|otp|pepper|private_key|xpub)(_|$)`)
	// suspect: attributes in whose text a long number is likely somebody's account or phone.
	suspect = regexp.MustCompile(`(^|_)(account|number|phone|beneficiary|bank|body|text|payload|error|reason|url)(_|$)`)
	digits  = regexp.MustCompile(`\b\d{6,16}\b`)
	// inText: a secret inside a text, as addresses and headers hold it.
	inText = regexp.MustCompile(`(?i)\b(account_number|access_token|pin|password|secret|token|signature|apikey|api_key|key)=[^&\s"']+`)
	bearer = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]+`)
)

// Redact is the last resort behind types that mask themselves (config.Secret, payout.AccountNumber): it hides
// attributes named like a secret, runs of 6 to 16 digits where account numbers could stand, and secrets inside
// addresses. Raw bytes are never shown. It has the form of slog.HandlerOptions.ReplaceAttr.
func Redact(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.SourceKey) {
		return a
	}
	name := strings.ToLower(a.Key)
	v := a.Value.Resolve()
	if v.Kind() == slog.KindString {
		return slog.String(a.Key, scrub(name, v.String()))
	}
	if v.Kind() == slog.KindAny {
		switch value := v.Any().(type) {
		case error:
			return slog.String(a.Key, scrub(name, value.Error()))
		case []byte:
			return slog.String(a.Key, mask)
		}
	}
	if hidden.MatchString(name) && v.Kind() != slog.KindGroup && v.Kind() != slog.KindBool {
		return slog.String(a.Key, mask)
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// scrub hides what must not be shown in the text of an attribute.
func scrub(name, text string) string {
	if text == "set" || text == "not set" || strings.HasPrefix(text, "set, keys ") { // config's summary
		return text
	}
	if hidden.MatchString(name) {
		return mask
	}
	if strings.Contains(text, "=") {
		text = inText.ReplaceAllString(text, "$1="+mask)
	}
	text = bearer.ReplaceAllString(text, "$1 "+mask)
	if suspect.MatchString(name) {
		text = digits.ReplaceAllString(text, mask)
	}
	return text
}
