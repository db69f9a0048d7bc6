package admin

import (
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
)

const (
	totpPeriod = 30 // seconds
	totpDrift  = 1  // periods before and after that are accepted
	totpSize   = 20 // bytes of secret
)

var totpEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// newTOTP makes a secret in the form that authenticator apps take.
func newTOTP(rand io.Reader) (string, error) {
	b := make([]byte, totpSize)
	if _, err := io.ReadFull(rand, b); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return totpEncoding.EncodeToString(b), nil
}

// totpURL is the address that an authenticator app reads from a QR code.
func totpURL(issuer, account, secret string) string {
	q := url.Values{"secret": {secret}, "issuer": {issuer}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}
	return (&url.URL{
		Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + account, RawQuery: q.Encode(),
	}).String()
}

// acceptedCounter returns the counter of a code that is right now, or one period off, and newer than the last accepted
// one: a code works once (ASVS 6.5.1).
func acceptedCounter(secret, code string, at time.Time, last int64) (int64, bool) {
	now := at.Unix() / totpPeriod
	found, ok := int64(0), false
	for counter := now - totpDrift; counter <= now+totpDrift; counter++ {
		want, err := hotp.GenerateCodeCustom(secret, uint64(counter),
			hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 && counter > last && !ok {
			found, ok = counter, true
		}
	}
	return found, ok
}
