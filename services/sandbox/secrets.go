package sandbox

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	_ "embed" // flow_key.pem
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"sort"
	"strings"
)

// The sandbox's identities. They are public on purpose: whoever runs the sandbox has them, and production refuses
// every one of them by digest (DESIGN §13).
const (
	PhoneNumberID      = "106000000000001"
	BusinessAccountID  = "102000000000001"
	DisplayPhoneNumber = "15550001111"
	secretLabel        = "offrampbot sandbox, never production"
	walletMnemonic     = "test test test test test test test test test test test junk"
)

// flowKeyPEM is the sandbox's Flow key, PKCS#8: known to everybody, so worthless anywhere else.
//
//go:embed flow_key.pem
var flowKeyPEM string

// secrets are the fixed secrets that the world and the bot in front of it share.
type secrets struct {
	AppSecret      string
	AccessToken    string
	VerifyToken    string
	PaystackSecret string
	DepositSecret  string
	LookupKey      string // base64 of 32 bytes
	FieldKeys      string // id:base64
	PINPepper      string
	AdminJWTKey    string
	FlowKey        string // PEM
	WalletXPub     string
	Treasury       string
}

// fixedSecrets derives them all; the same in every process of every version.
func fixedSecrets() (secrets, error) {
	xpub, treasury, err := sandboxWallet()
	if err != nil {
		return secrets{}, fmt.Errorf("derive the sandbox wallet: %w", err)
	}
	return secrets{
		AppSecret:      hex.EncodeToString(secretBytes("app-secret")[:16]),
		AccessToken:    "EAAsandbox" + hex.EncodeToString(secretBytes("access-token")),
		VerifyToken:    "verify-" + hex.EncodeToString(secretBytes("verify-token")[:16]),
		PaystackSecret: "sk_test_" + hex.EncodeToString(secretBytes("paystack")[:20]),
		DepositSecret:  hex.EncodeToString(secretBytes("deposit-webhook")),
		LookupKey:      base64.StdEncoding.EncodeToString(secretBytes("lookup")),
		FieldKeys:      keyList("field"),
		PINPepper:      keyList("pepper"),
		AdminJWTKey:    keyList("admin-jwt"),
		FlowKey:        strings.TrimSpace(flowKeyPEM),
		WalletXPub:     xpub,
		Treasury:       treasury,
	}, nil
}

func secretBytes(name string) []byte { return digestOf(secretLabel, name) }

func keyList(name string) string {
	return "sandbox1:" + base64.StdEncoding.EncodeToString(secretBytes(name))
}

// DefaultOperator is the login that demo and sandbox seed and print: an operator of the sandbox only.
func DefaultOperator() Operator {
	return Operator{
		Email:    "operator@sandbox.test",
		Password: "sandbox-" + hex.EncodeToString(secretBytes("operator-password")[:8]),
		TOTP:     base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secretBytes("operator-totp")[:20]),
	}
}

// DefaultApprover is a second person, for what needs two.
func DefaultApprover() Operator {
	return Operator{
		Email:    "approver@sandbox.test",
		Password: "sandbox-" + hex.EncodeToString(secretBytes("approver-password")[:8]),
		TOTP:     base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secretBytes("approver-totp")[:20]),
	}
}

// SecretDigests lists the lower-case hex SHA-256 of every fixed sandbox secret, so that production refuses them: of the
// whole value without a trailing newline, of each key of a list `id:key` without its id, and of the Flow key's DER.
func SecretDigests() ([]string, error) {
	s, err := fixedSecrets()
	if err != nil {
		return nil, err
	}
	operator, approver := DefaultOperator(), DefaultApprover()
	values := []string{
		s.AppSecret, s.AccessToken, s.VerifyToken, s.PaystackSecret, s.DepositSecret, s.LookupKey, s.FieldKeys,
		s.PINPepper, s.AdminJWTKey, s.FlowKey, s.WalletXPub, walletMnemonic, operator.Password, operator.TOTP,
		approver.Password, approver.TOTP,
	}
	for _, list := range []string{s.FieldKeys, s.PINPepper, s.AdminJWTKey} {
		_, key, _ := strings.Cut(list, ":")
		values = append(values, key)
	}
	block, _ := pem.Decode([]byte(flowKeyPEM))
	if block == nil {
		return nil, errors.New("decode the sandbox Flow key: no PEM block")
	}
	values = append(values, string(block.Bytes))
	digests := make([]string, len(values))
	for i, value := range values {
		sum := sha256.Sum256([]byte(value))
		digests[i] = hex.EncodeToString(sum[:])
	}
	sort.Strings(digests)
	return digests, nil
}

// flowPublicKey is the public half of the sandbox's Flow key, what Meta would show until another one is uploaded.
func flowPublicKey() (*rsa.PublicKey, error) {
	block, _ := pem.Decode([]byte(flowKeyPEM))
	if block == nil {
		return nil, errors.New("decode the sandbox Flow key: no PEM block")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the sandbox Flow key: %w", err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("parse the sandbox Flow key: not RSA")
	}
	return &key.PublicKey, nil
}
