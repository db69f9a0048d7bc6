// Package session remembers for half an hour what a user is typing. It lives in Redis and may vanish: then the user is
// asked again, and nothing else happens.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// Life is how long a draft lasts after its last change.
const Life = 30 * time.Minute

// Config tunes a Store.
type Config struct {
	// Prefix of every key; with the installation id in it, databases that share a Redis do not meet. Empty: "offramp:session:".
	Prefix string
}

// Store keeps drafts.
type Store struct {
	client redis.UniversalClient
	log    *slog.Logger
	prefix string
}

// New returns a Store.
func New(client redis.UniversalClient, log *slog.Logger, cfg Config) (*Store, error) {
	switch {
	case client == nil:
		return nil, errors.New("make session store: client is missing")
	case log == nil:
		return nil, errors.New("make session store: log is missing")
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "offramp:session:"
	}
	return &Store{client: client, log: log, prefix: cfg.Prefix}, nil
}

// Get returns the draft of a user, or false when there is none: also when Redis does not answer or holds something that
// is no draft, which is logged. userDigest is a keyed digest or an id of ours, never a phone number.
func (s *Store) Get(ctx context.Context, userDigest string) (Draft, bool) {
	raw, err := s.client.Get(ctx, s.prefix+userDigest).Bytes()
	if errors.Is(err, redis.Nil) {
		return Draft{}, false
	}
	if err != nil {
		s.log.WarnContext(ctx, "chat draft was not read", "error", err)
		return Draft{}, false
	}
	var d Draft
	if err := json.Unmarshal(raw, &d); err != nil {
		s.log.WarnContext(ctx, "chat draft was not understood", "error", errors.New("not a draft of this release"))
		return Draft{}, false
	}
	return d, true
}

// Put stores the draft of a user for Life. A Redis that does not answer is logged and no error: the user is asked
// again. The one error is ErrPersonal, a defect of the caller, and then nothing is stored.
func (s *Store) Put(ctx context.Context, userDigest string, d Draft) error {
	raw, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("store chat draft: %w", err)
	}
	if err := s.client.Set(ctx, s.prefix+userDigest, raw, Life).Err(); err != nil {
		s.log.WarnContext(ctx, "chat draft was not stored", "error", err)
	}
	return nil
}

// Delete forgets the draft of a user. A Redis that does not answer is logged; the draft runs out by itself.
func (s *Store) Delete(ctx context.Context, userDigest string) {
	if err := s.client.Del(ctx, s.prefix+userDigest).Err(); err != nil {
		s.log.WarnContext(ctx, "chat draft was not deleted", "error", err)
	}
}
