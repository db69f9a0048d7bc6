package guard

import (
	"strconv"
	"strings"

	"offrampbot/services/ids"
	"offrampbot/services/money"
)

// Content is what makes two sales the same to a person: all six equal is a duplicate, any one different is not (R47).
type Content struct {
	User    string      // user id
	Amount  money.Micro // crypto, so that 20 and 20.0 are one amount (W7)
	Bank    string      // bank code
	Account string      // account number
	Asset   string
	Chain   string
}

// Key returns the digest of a content under LOOKUP_KEY: base64url of an HMAC over length-prefixed fields, so that no
// key holds personal data and no two contents share one (W8). Spelling of asset and chain does not matter.
func Key(hmacKey []byte, c Content) string {
	return ids.Digest(hmacKey,
		"guard",
		c.User,
		strconv.FormatInt(int64(c.Amount), 10),
		strings.TrimSpace(c.Bank),
		strings.TrimSpace(c.Account),
		strings.ToUpper(strings.TrimSpace(c.Asset)),
		strings.ToLower(strings.TrimSpace(c.Chain)),
	)
}
