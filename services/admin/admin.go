// Package admin holds the staff: accounts with a password and a one-time code, short-lived tokens, roles, and the
// approvals with which a second person decides about money (DESIGN §12). Every change appends its audit entry in the
// same transaction.
package admin

import (
	"net/mail"
	"strings"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// Admin is one member of staff. Its id is the e-mail address in lower case, so that a trail reads without a look-up.
type Admin struct {
	store.Meta  `bson:",inline"`
	Role        Role       `bson:"role" json:"role"`
	Password    string     `bson:"password" json:"-"`     // argon2id, encoded with its parameters
	TOTP        []byte     `bson:"totp" json:"-"`         // sealed secret, the id as associated data
	LastCounter int64      `bson:"last_counter" json:"-"` // last accepted one-time code; no code is accepted twice
	Disabled    bool       `bson:"disabled" json:"disabled"`
	Epoch       int        `bson:"epoch" json:"epoch"` // a token of another epoch is void
	Revoked     []Revoked  `bson:"revoked,omitempty" json:"-"`
	Failures    int        `bson:"failures" json:"failures"` // logins counted before they are compared
	Locks       int        `bson:"locks" json:"locks"`       // locks in a row; each is longer
	LockedUntil *time.Time `bson:"locked_until,omitempty" json:"locked_until,omitempty"`
	CreatedAt   time.Time  `bson:"created_at" json:"created_at"`
	LastLogin   *time.Time `bson:"last_login,omitempty" json:"last_login,omitempty"`
}

// Revoked is one token that was given back before its time.
type Revoked struct {
	JTI   string    `bson:"jti"`
	Until time.Time `bson:"until"` // when the token ends anyway
}

// Identity is who makes a request, as a verified token says. It is passed down as an argument, never in a context.
type Identity struct {
	ID      string
	Role    Role
	JTI     string
	Expires time.Time
	Since   time.Time // of the login; zero for a token that was issued on the host
	epoch   int
}

// Actor is the identity's name in the audit trail.
func (i Identity) Actor() string { return "staff:" + i.ID }

// Indexes declares what the collections of this package are searched by.
var Indexes = []store.Index{
	{Collection: store.Approvals, Name: "open", Fields: []string{"open"}, Unique: true},
	{Collection: store.Approvals, Name: "state", Fields: []string{"state", "asked_at"}},
	{Collection: store.Approvals, Name: "asked", Fields: []string{"asked_at"}},
	{Collection: store.Approvals, Name: "order", Fields: []string{"order", "asked_at"}},
	{Collection: store.Counters, Name: "answered", Fields: []string{"answered_at"}},
}

const (
	// minPassword is short because a one-time code stands beside it.
	minPassword = 8
	maxPassword = 256
)

// normalEmail is the id of an address, or a refusal.
func normalEmail(email string) (string, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > 254 || strings.ContainsAny(email, "|:\"") {
		return "", fault.New("staff_invalid", nil).With("what", "the e-mail address")
	}
	return email, nil
}

// isLocked reports whether logins are refused at a time.
func (a *Admin) isLocked(at time.Time) bool { return a.LockedUntil != nil && at.Before(*a.LockedUntil) }

// count notes a login before it is compared, and locks the account when it was one too many (S1, B91).
func (a *Admin) count(at time.Time, limit int, lock time.Duration) {
	a.Failures++
	if a.Failures < limit {
		return
	}
	until := at.Add(lock << min(a.Locks, 6)) // 15 minutes, doubling to 16 hours
	a.LockedUntil, a.Failures = &until, 0
	a.Locks++
}

// succeed clears what failed logins left.
func (a *Admin) succeed(at time.Time, counter int64) {
	a.Failures, a.Locks, a.LockedUntil, a.LastLogin, a.LastCounter = 0, 0, nil, &at, counter
}

// revoke voids one token and forgets those that have ended by themselves.
func (a *Admin) revoke(jti string, until, at time.Time) {
	keep := []Revoked{{JTI: jti, Until: until}}
	for _, r := range a.Revoked {
		if at.Before(r.Until) && r.JTI != jti {
			keep = append(keep, r)
		}
	}
	a.Revoked = keep
}

// accepts reports whether a token of this account is still good.
func (a *Admin) accepts(epoch int, jti string) bool {
	if a.Disabled || epoch != a.Epoch {
		return false
	}
	for _, r := range a.Revoked {
		if r.JTI == jti {
			return false
		}
	}
	return true
}
