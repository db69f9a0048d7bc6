package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"offrampbot/flows"
	"offrampbot/services/admin"
	"offrampbot/services/audit"
	"offrampbot/services/config"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/store/bolt"
	"offrampbot/services/store/mongo"
	"offrampbot/services/user"
)

// indexes is every declared index of the product.
func indexes() []store.Index {
	return slices.Concat(user.Indexes, quote.Indexes, offramp.Indexes, ledger.Indexes, deposit.Indexes, delivery.Indexes,
		operation.Indexes, audit.Indexes, flows.SessionIndexes, admin.Indexes)
}

// database is an engine with the care of its indexes.
type database interface {
	store.Engine
	CompareIndexes(ctx context.Context) ([]string, error)
	EnsureIndexes(ctx context.Context) error
	DropExtra(ctx context.Context) error
	EndAbandoned(ctx context.Context) (ended int, err error)
}

// openStore opens the configured engine.
func openStore(ctx context.Context, cfg *config.Config) (database, error) {
	if cfg.Store.Engine == config.Embedded {
		if err := os.MkdirAll(cfg.Store.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("make data folder: %w", err)
		}
		return bolt.Open(bolt.Options{
			Path: filepath.Join(cfg.Store.DataDir, "offramp.db"), Indexes: indexes(), Now: now, Timeout: cfg.Store.Timeout,
		})
	}
	return mongo.Open(ctx, mongo.Options{
		URI: cfg.Store.MongoURI.Reveal(), Database: cfg.Store.Database, Indexes: indexes(), Timeout: cfg.Store.Timeout, Now: now,
	})
}

// stamp is the document that ties a database to one world and one wallet, and what is in Redis to the database.
type stamp struct {
	store.Meta   `bson:",inline"`
	Environment  string    `bson:"environment"`
	Wallet       string    `bson:"wallet"`       // fingerprint of WALLET_XPUB
	Installation string    `bson:"installation"` // random, once for each database; empty in stamps of older releases
	At           time.Time `bson:"at"`
}

const stampID = "environment"

// fits refuses a database of another world or wallet.
func (s stamp) fits(cfg *config.Config, wallet string) error {
	if s.Environment != string(cfg.App.Env) {
		return fmt.Errorf("the database belongs to APP_ENV=%s, this process runs as %s: use another database", s.Environment, cfg.App.Env)
	}
	if s.Wallet != wallet {
		return errors.New("WALLET_XPUB is not the one this database was started with: deposits would go to addresses nobody watches")
	}
	return nil
}

// prepare makes an empty database ready, and refuses one that belongs to another world or wallet, or whose indexes are
// not those of this release (DESIGN §5, §13). It returns the installation id, which binds every key in Redis to this
// database: claims and locks of a database that is gone mean nothing to it.
func prepare(ctx context.Context, db database, cfg *config.Config, wallet string) (installation string, err error) {
	s, err := readOrStamp(ctx, db, cfg, wallet)
	if err != nil {
		return "", err
	}
	if err := s.fits(cfg, wallet); err != nil {
		return "", err
	}
	differences, err := db.CompareIndexes(ctx)
	if err != nil {
		return "", err
	}
	if len(differences) > 0 {
		return "", fmt.Errorf("the database's indexes differ, run `offrampbot migrate` first: %v", differences)
	}
	if s.Installation == "" {
		if s, err = identify(ctx, db); err != nil {
			return "", fmt.Errorf("give the database an installation id: %w", err)
		}
	}
	return s.Installation, nil
}

// readOrStamp reads the stamp; a database without one gets its indexes and then a stamp.
func readOrStamp(ctx context.Context, db database, cfg *config.Config, wallet string) (s stamp, err error) {
	err = db.View(ctx, func(_ context.Context, r store.Reader) error { return r.Get(store.Migrations, stampID, &s) })
	if err == nil {
		return s, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return stamp{}, fmt.Errorf("read the database's stamp: %w", err)
	}
	if err := db.EnsureIndexes(ctx); err != nil {
		return stamp{}, err
	}
	first := stamp{Environment: string(cfg.App.Env), Wallet: wallet, Installation: rand.Text(), At: time.Now().UTC()}
	err = db.Update(ctx, func(_ context.Context, tx store.Tx) error {
		mine := first
		mine.Meta = store.Meta{ID: stampID, Version: 1}
		if _, err := tx.Ensure(store.Migrations, &mine); err != nil {
			return err
		}
		s = stamp{} // of concurrent starts all go on with the stamp that was first
		return tx.Get(store.Migrations, stampID, &s)
	})
	if err != nil {
		return stamp{}, fmt.Errorf("stamp the database: %w", err)
	}
	return s, nil
}

// identifyTries bounds how often identify starts over when another process changes the stamp at the same moment.
const identifyTries = 5

// identify gives a stamp of an older release its installation id. Of processes that start at once one draws it and the
// others read what it drew.
func identify(ctx context.Context, db database) (s stamp, err error) {
	for range identifyTries {
		err = db.Update(ctx, func(_ context.Context, tx store.Tx) error {
			s = stamp{}
			if err := tx.Get(store.Migrations, stampID, &s); err != nil || s.Installation != "" {
				return err
			}
			s.Installation = rand.Text()
			return tx.Replace(store.Migrations, &s)
		})
		if !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrCommitUnknown) {
			break
		}
	}
	return s, err
}
