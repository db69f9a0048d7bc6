package sandbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

// sealedRequest is the wire form of a request to the Flow endpoint (Meta: Flow endpoint).
type sealedRequest struct {
	Data string `json:"encrypted_flow_data"`
	Key  string `json:"encrypted_aes_key"`
	IV   string `json:"initial_vector"`
}

// flowCipher is one request's key and initial vector; the answer uses the same key and the inverted vector.
type flowCipher struct {
	key []byte // 16 bytes
	iv  []byte // 16 bytes
}

func newFlowCipher() (flowCipher, error) {
	c := flowCipher{key: make([]byte, 16), iv: make([]byte, 16)}
	if _, err := rand.Read(c.key); err != nil {
		return flowCipher{}, fmt.Errorf("draw a Flow key: %w", err)
	}
	if _, err := rand.Read(c.iv); err != nil {
		return flowCipher{}, fmt.Errorf("draw a Flow vector: %w", err)
	}
	return c, nil
}

// gcm is AES-128-GCM with Meta's 16-byte vector.
func (c flowCipher) gcm() (cipher.AEAD, error) {
	block, err := aes.NewCipher(c.key)
	if err != nil {
		return nil, fmt.Errorf("take the Flow key: %w", err)
	}
	aead, err := cipher.NewGCMWithNonceSize(block, 16)
	if err != nil {
		return nil, fmt.Errorf("make the Flow cipher: %w", err)
	}
	return aead, nil
}

// sealRequest encrypts a request: the body for the key, the key for the endpoint's public key (OAEP with SHA-256).
func (c flowCipher) sealRequest(public *rsa.PublicKey, plaintext []byte) (sealedRequest, error) {
	aead, err := c.gcm()
	if err != nil {
		return sealedRequest{}, err
	}
	wrapped, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, public, c.key, nil)
	if err != nil {
		return sealedRequest{}, fmt.Errorf("wrap the Flow key: %w", err)
	}
	return sealedRequest{
		Data: base64.StdEncoding.EncodeToString(aead.Seal(nil, c.iv, plaintext, nil)),
		Key:  base64.StdEncoding.EncodeToString(wrapped),
		IV:   base64.StdEncoding.EncodeToString(c.iv),
	}, nil
}

// openAnswer decrypts an answer: base64 of ciphertext and tag under the vector with every bit inverted.
func (c flowCipher) openAnswer(body []byte) ([]byte, error) {
	sealed := make([]byte, base64.StdEncoding.DecodedLen(len(body)))
	n, err := base64.StdEncoding.Decode(sealed, body)
	if err != nil {
		return nil, fmt.Errorf("decode a Flow answer: %w", err)
	}
	if n < 16 {
		return nil, errors.New("decode a Flow answer: shorter than its tag")
	}
	flipped := make([]byte, len(c.iv))
	for i, b := range c.iv {
		flipped[i] = ^b
	}
	aead, err := c.gcm()
	if err != nil {
		return nil, err
	}
	plaintext, err := aead.Open(nil, flipped, sealed[:n], nil)
	if err != nil {
		return nil, fmt.Errorf("open a Flow answer: %w", err)
	}
	return plaintext, nil
}
