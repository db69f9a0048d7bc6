// Package ids makes every identity of the product (DESIGN §4). The same input twice gives the same id, and any id finds
// the whole story. None is made from a clock or randomness alone, except the intent id of a quote (R1).
package ids

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// referencePrefix starts every reference that we give to a payout provider or a venue.
const referencePrefix = "ofr-"

// referenceDigits are the digits of a provider reference: lower-case letters and digits, which every provider takes.
var referenceDigits = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Digest is the keyed digest of some fields: HMAC-SHA256 over each field behind its length, base64url without padding
// (43 characters). The lengths make it unambiguous: no two different lists of fields share an input (W8).
func Digest(key []byte, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString(digest(key, parts...))
}

// digest is Digest before encoding.
func digest(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	var length [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		mac.Write(length[:]) // a hash never returns an error
		mac.Write([]byte(p))
	}
	return mac.Sum(nil)
}

// NewIntent makes the id of a quote, which becomes the id of its order: a UUIDv7, so that ids sort by time. It fails
// only when the system has no randomness.
func NewIntent() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make intent id: %w", err)
	}
	return id.String(), nil
}

// WhatsAppDelivery is the delivery id of a message: "wa:<wamid>".
func WhatsAppDelivery(wamid string) string { return "wa:" + wamid }

// ProviderDelivery is the delivery id of a provider's callback: "<provider>:<event>:<reference>:<status>", the compound
// key of DESIGN §7.2. A colon inside a part is escaped, so that two different callbacks never share an id.
func ProviderDelivery(provider, event, reference, status string) string {
	return escape(provider) + ":" + escape(event) + ":" + escape(reference) + ":" + escape(status)
}

// escape keeps a part of a compound id free of the separator.
func escape(part string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A").Replace(part)
}

// ChainDelivery is the delivery id of a trusted confirmation event: "chain:<event id>".
func ChainDelivery(eventID string) string { return "chain:" + eventID }

// Operation is the id of an outside action: "<action>:<order>", and ":<epoch>" behind it from the second epoch on
// (R22). Epochs count from 1; everything below counts as the first.
func Operation(action, order string, epoch int) string {
	id := action + ":" + order
	if epoch > 1 {
		id += ":" + strconv.Itoa(epoch)
	}
	return id
}

// Notify is the operation id of one message about an order: "notify:<order>:<seq>".
func Notify(order string, seq int) string { return "notify:" + order + ":" + strconv.Itoa(seq) }

// LookUp is the operation id of the n-th look-up of another operation: "look-up:<operation>:<n>".
func LookUp(operation string, n int) string { return "look-up:" + operation + ":" + strconv.Itoa(n) }

// Posting is the id of a ledger posting: "<source>:<step>", the source being an operation id or a DepositSource.
func Posting(source, step string) string { return source + ":" + step }

// DepositSource is the posting source of a deposit: "<deposit ref>:<epoch>". The epoch rises with each reversal, so
// that credits and reversals of one deposit alternate under different ids (I5).
func DepositSource(ref string, epoch int) string { return ref + ":" + strconv.Itoa(epoch) }

// ProviderReference is the reference given to a venue or payout provider for an operation, the same on every retry:
// "ofr-" and 32 lower-case letters and digits of the operation's digest. That is 36 characters of the 16 to 40 that
// Paystack takes. A new reference needs a new epoch, and so a new operation id (D4).
func ProviderReference(operationID string) string {
	sum := sha256.Sum256([]byte(operationID))
	return referencePrefix + referenceDigits.EncodeToString(sum[:20])
}
