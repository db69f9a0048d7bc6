package whatsapp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// SignatureHeader is the HTTP header that carries Meta's signature on webhooks and on the Flow endpoint.
const SignatureHeader = "X-Hub-Signature-256"

const signaturePrefix = "sha256="

// VerifySignature reports whether header is "sha256=" and the 64 hex digits of the HMAC-SHA256 of body under one of the
// secrets: the app secret and, for the time of a rotation, the one before it. body is the raw bytes as received; a body
// that was decoded and encoded again has another signature (P16, B70, B72). An empty secret never matches, and without
// any secret everything is refused (P17, B71).
func VerifySignature(secrets [][]byte, header string, body []byte) bool {
	digits, ok := strings.CutPrefix(header, signaturePrefix)
	if !ok || len(digits) != hex.EncodedLen(sha256.Size) {
		return false
	}
	given, err := hex.DecodeString(digits)
	if err != nil {
		return false
	}
	valid := false
	for _, secret := range secrets {
		if len(secret) == 0 {
			continue
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		// Every secret is tried, so that the time taken does not tell which one matched.
		if hmac.Equal(mac.Sum(nil), given) {
			valid = true
		}
	}
	return valid
}
