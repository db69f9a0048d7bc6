package admin

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	issuer   = "offrampbot"
	audience = "offrampbot-admin"
	// maxTokenLife is how long a staff token may be good at most (DESIGN §12).
	maxTokenLife = 15 * time.Minute
	// clockTolerance is how far the clocks of our processes may differ (DESIGN §13).
	clockTolerance = 2 * time.Second
)

// Key is one named HS256 key of 32 bytes or more.
type Key struct {
	ID     string
	Secret []byte
}

// claims is the content of a token. The role is not in it: it is read from the account at each use.
type claims struct {
	jwt.RegisteredClaims
	Epoch int `json:"epoch"`
	// Since is when somebody logged in, in all tokens of the session; absent in a token that was issued on the host.
	Since *jwt.NumericDate `json:"auth_time,omitempty"`
}

// since is the time of the login, zero without one.
func (c *claims) since() time.Time {
	if c.Since == nil {
		return time.Time{}
	}
	return c.Since.UTC()
}

// signer makes and reads tokens. The method is pinned and the key comes from a fixed set (B94).
type signer struct {
	keys map[string][]byte
	head string // id of the key that signs
	life time.Duration
	now  func() time.Time
}

// sign makes a token for an account. Since is the time of the login, zero for a token that no login made.
func (s *signer) sign(id, jti string, epoch int, at, since time.Time) (Token, error) {
	expires := at.Add(s.life).Truncate(time.Second)
	var login *jwt.NumericDate
	if !since.IsZero() {
		login = jwt.NewNumericDate(since)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		Since: login,
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{audience}, Subject: id, ID: jti,
			IssuedAt: jwt.NewNumericDate(at), NotBefore: jwt.NewNumericDate(at), ExpiresAt: jwt.NewNumericDate(expires),
		},
		Epoch: epoch,
	})
	token.Header["kid"] = s.head
	text, err := token.SignedString(s.keys[s.head])
	if err != nil {
		return Token{}, fmt.Errorf("sign token: %w", err)
	}
	return Token{Text: text, ID: id, JTI: jti, Expires: expires}, nil
}

// read verifies a token and returns its claims. It does not know whether the token was revoked.
func (s *signer) read(text string) (*claims, error) {
	c := &claims{}
	_, err := jwt.ParseWithClaims(text, c, func(t *jwt.Token) (any, error) {
		kid, ok := t.Header["kid"].(string)
		key := s.keys[kid]
		if !ok || key == nil {
			return nil, errors.New("unknown key id")
		}
		return key, nil
	},
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(clockTolerance),
		jwt.WithTimeFunc(s.now), jwt.WithStrictDecoding())
	if err != nil {
		return nil, fmt.Errorf("verify token: %w", err)
	}
	if c.ID == "" || c.Subject == "" {
		return nil, errors.New("verify token: no jti or subject")
	}
	if c.IssuedAt == nil || c.ExpiresAt.Sub(c.IssuedAt.Time) > maxTokenLife {
		return nil, errors.New("verify token: lives longer than allowed")
	}
	return c, nil
}
