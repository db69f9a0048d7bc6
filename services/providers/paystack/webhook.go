package paystack

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"errors"

	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/payout"
)

// signatureHeader carries the lower-case hex HMAC-SHA512 of the raw body under the secret key.
const signatureHeader = "x-paystack-signature"

// ParseWebhook verifies a callback over its raw body and names what it is about: a hint, never the truth. An event that
// is not about a transfer comes back with its name; the caller parks it. Fault codes signature_invalid and body_invalid.
func (c *Client) ParseWebhook(body []byte, header func(name string) string) (payout.Callback, error) {
	f, err := c.signed(body, header)
	if err != nil {
		return payout.Callback{}, err
	}
	data := f.inner("data")
	callback := payout.Callback{Event: f.text("event"), Reference: data.text("reference"), Status: data.text("status")}
	if callback.Event == "" {
		return payout.Callback{}, fault.New("body_invalid", errors.New("callback has no event"))
	}
	return callback, nil
}

// ParseApproval verifies the question whether a transfer may go out and returns its reference and amount in kobo. The
// transfer is the body itself or its `data`. Fault codes signature_invalid and body_invalid.
func (c *Client) ParseApproval(body []byte, header func(name string) string) (string, money.Minor, error) {
	f, err := c.signed(body, header)
	if err != nil {
		return "", 0, err
	}
	if data := f.inner("data"); data != nil {
		f = data
	}
	reference := f.text("reference")
	amount, ok := f.integer("amount")
	_, isOurs := currencies[f.text("currency")]
	if !ok || amount <= 0 || !referenceForm.MatchString(reference) {
		return "", 0, fault.New("body_invalid", errors.New("approval names no reference or amount"))
	}
	if !isOurs && f.text("currency") != "" {
		return "", 0, fault.New("body_invalid", errors.New("approval is in another currency"))
	}
	return reference, money.Minor(amount), nil
}

// signed checks the signature under the active and the previous key, each in constant time, and only then decodes.
func (c *Client) signed(body []byte, header func(name string) string) (fields, error) {
	given, err := hex.DecodeString(header(signatureHeader))
	if err != nil || len(given) != sha512.Size {
		return nil, fault.New("signature_invalid", errors.New("signature is missing or not one"))
	}
	isValid := false
	for _, key := range c.secrets {
		mac := hmac.New(sha512.New, key)
		mac.Write(body)
		if hmac.Equal(mac.Sum(nil), given) {
			isValid = true
		}
	}
	if !isValid {
		return nil, fault.New("signature_invalid", nil)
	}
	f, err := object(body)
	if err != nil {
		return nil, fault.New("body_invalid", err)
	}
	return f, nil
}
