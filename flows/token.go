package flows

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// minTokenKey is the least length of the key that tokens are made with.
const minTokenKey = 32

// Tokens makes flow tokens. A token is an HMAC over the seed of its session, so it has 256 bits that nobody can guess,
// is the same however often its message is sent, and needs no storing: only its digest is stored (S4).
type Tokens struct{ key []byte }

// NewTokens takes a key of at least 32 bytes; several processes use the same one.
func NewTokens(key []byte) (*Tokens, error) {
	if len(key) < minTokenKey {
		return nil, errors.New("flow token key is shorter than 32 bytes")
	}
	return &Tokens{key: append([]byte(nil), key...)}, nil
}

// Token returns the token of a session: base64url of HMAC-SHA256(key, "flow:" + session), 43 characters. session is the
// seed that is unique to one opening of one Flow, see operation.Flow. The token is a secret of the chat it is sent to.
func (t *Tokens) Token(session string) string {
	return base64.RawURLEncoding.EncodeToString(t.mac("flow:" + session))
}

// RequestDigest identifies one request of a client, so that its repeat can be told from a new one. It is keyed: what is
// digested may be a PIN, and a plain digest of six digits is as good as the digits. Equal input gives an equal digest in
// every process; the input is Request.Canonical.
func (t *Tokens) RequestDigest(plain []byte) string {
	return base64.RawURLEncoding.EncodeToString(t.mac("request:" + string(plain)))
}

func (t *Tokens) mac(input string) []byte {
	mac := hmac.New(sha256.New, t.key)
	mac.Write([]byte(input))
	return mac.Sum(nil)
}

// Digest is the `_id` of the session of a token. The token itself is in no document.
func Digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
