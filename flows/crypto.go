package flows

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
)

// The sizes that Meta's protocol fixes. The nonce is 16 bytes, not the usual 12 (P44).
const (
	aesKeySize   = 16
	nonceSize    = 16
	tagSize      = 16
	rsaBits      = 2048
	maxPlaintext = 1 << 20
)

// ErrDecrypt: the request cannot be decrypted with the current or the previous key. The endpoint answers 421, so that
// the client fetches the public key again and retries (P47). It never says why.
var ErrDecrypt = errors.New("request cannot be decrypted")

// Keys are the private keys of the endpoint: the current one and, for the time of a rotation, the one before it.
type Keys struct{ private []*rsa.PrivateKey }

// NewKeys reads the current and, unless empty, the previous private key: unencrypted PEM, PKCS#1 or PKCS#8, RSA of 2048
// bits (P46). Each key is tried once on a message to itself; a key that does not open its own message is an error.
func NewKeys(currentPEM, previousPEM []byte) (*Keys, error) {
	current, err := parseKey(currentPEM)
	if err != nil {
		return nil, fmt.Errorf("read current flow key: %w", err)
	}
	keys := &Keys{private: []*rsa.PrivateKey{current}}
	if len(bytes.TrimSpace(previousPEM)) > 0 {
		previous, err := parseKey(previousPEM)
		if err != nil {
			return nil, fmt.Errorf("read previous flow key: %w", err)
		}
		keys.private = append(keys.private, previous)
	}
	for _, key := range keys.private {
		if err := selfTest(key); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// parseKey tells the two file formats apart by the PEM type: each parser refuses the other's files.
func parseKey(text []byte) (*rsa.PrivateKey, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("something follows the PEM block")
	}
	var key *rsa.PrivateKey
	switch block.Type {
	case "RSA PRIVATE KEY":
		if block.Headers["DEK-Info"] != "" {
			return nil, errors.New("the PEM block is encrypted; store it decrypted in a secret file")
		}
		parsed, err := x509.ParsePKCS1PrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse PKCS#1: %w", err)
		}
		key = parsed
	case "PRIVATE KEY":
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse PKCS#8: %w", err)
		}
		rsaKey, ok := parsed.(*rsa.PrivateKey)
		if !ok {
			return nil, errors.New("not an RSA key")
		}
		key = rsaKey
	default:
		return nil, fmt.Errorf("PEM type %q is neither RSA PRIVATE KEY nor PRIVATE KEY", block.Type)
	}
	if key.N.BitLen() != rsaBits {
		return nil, fmt.Errorf("key has %d bits, Meta takes %d", key.N.BitLen(), rsaBits)
	}
	return key, nil
}

// selfTest seals a request to the key and opens it again, in the way of a client.
func selfTest(key *rsa.PrivateKey) error {
	plain := []byte(`{"version":"4.0","action":"ping"}`)
	envelope, _, err := sealRequest(&key.PublicKey, plain)
	if err != nil {
		return fmt.Errorf("test flow key: %w", err)
	}
	got, _, err := (&Keys{private: []*rsa.PrivateKey{key}}).Open(envelope)
	if err != nil {
		return fmt.Errorf("test flow key: %w", err)
	}
	if !bytes.Equal(got, plain) {
		return errors.New("test flow key: opened something else")
	}
	return nil
}

// PublicPEM returns the public half of the current key, as it is uploaded to Meta.
func (k *Keys) PublicPEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(&k.private[0].PublicKey)
	if err != nil {
		return nil, fmt.Errorf("encode public flow key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// envelope is the body of a request, standard base64 with padding.
type envelope struct {
	Data  string `json:"encrypted_flow_data"`
	Key   string `json:"encrypted_aes_key"`
	Nonce string `json:"initial_vector"`
}

// Open decrypts a request body: RSA-OAEP with SHA-256 gives the AES key, AES-128-GCM the plaintext. Every failure is
// ErrDecrypt; no input panics. reply seals the answer to this request and to no other.
func (k *Keys) Open(body []byte) (plain []byte, reply *Reply, err error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, nil, ErrDecrypt
	}
	data, dataErr := base64.StdEncoding.DecodeString(e.Data)
	sealedKey, keyErr := base64.StdEncoding.DecodeString(e.Key)
	nonce, nonceErr := base64.StdEncoding.DecodeString(e.Nonce)
	if dataErr != nil || keyErr != nil || nonceErr != nil {
		return nil, nil, ErrDecrypt
	}
	// Go's GCM panics on a nonce of another length, so lengths are checked before anything is opened.
	if len(nonce) != nonceSize || len(data) < tagSize || len(data) > maxPlaintext+tagSize {
		return nil, nil, ErrDecrypt
	}
	for _, private := range k.private {
		aesKey, err := rsa.DecryptOAEP(sha256.New(), nil, private, sealedKey, nil)
		if err != nil || len(aesKey) != aesKeySize {
			continue
		}
		gcm, err := newGCM(aesKey)
		if err != nil {
			continue
		}
		plain, err := gcm.Open(nil, nonce, data, nil)
		if err != nil {
			continue
		}
		return plain, &Reply{gcm: gcm, nonce: invert(nonce)}, nil
	}
	return nil, nil, ErrDecrypt
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("start AES: %w", err)
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, nonceSize)
	if err != nil {
		return nil, fmt.Errorf("start GCM: %w", err)
	}
	return gcm, nil
}

// invert flips every bit of the request's nonce, which is how Meta keeps the answer's nonce from being the same.
func invert(nonce []byte) []byte {
	out := make([]byte, len(nonce))
	for i, b := range nonce {
		out[i] = ^b
	}
	return out
}

// Reply seals the answer to one request.
type Reply struct {
	gcm   cipher.AEAD
	nonce []byte
}

// Seal encrypts an answer under the request's own key and the inverted nonce and returns the response body: base64
// text, sent as text/plain. It seals only one answer: the same bytes may be sealed again, other bytes under the same
// nonce would give both away.
func (r *Reply) Seal(answer []byte) []byte {
	return base64.StdEncoding.AppendEncode(nil, r.gcm.Seal(nil, r.nonce, answer, nil))
}

// sealRequest does what a client does; it exists for the self-test.
func sealRequest(public *rsa.PublicKey, plain []byte) (body []byte, reply *Reply, err error) {
	key, nonce := make([]byte, aesKeySize), make([]byte, nonceSize)
	if _, err := rand.Read(key); err != nil {
		return nil, nil, fmt.Errorf("make key: %w", err)
	}
	if _, err := rand.Read(nonce); err != nil {
		return nil, nil, fmt.Errorf("make nonce: %w", err)
	}
	sealedKey, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, public, key, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("seal key: %w", err)
	}
	gcm, err := newGCM(key)
	if err != nil {
		return nil, nil, err
	}
	body, err = json.Marshal(envelope{
		Data:  base64.StdEncoding.EncodeToString(gcm.Seal(nil, nonce, plain, nil)),
		Key:   base64.StdEncoding.EncodeToString(sealedKey),
		Nonce: base64.StdEncoding.EncodeToString(nonce),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("encode request: %w", err)
	}
	return body, &Reply{gcm: gcm, nonce: invert(nonce)}, nil
}
