package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/store"
)

// What the seeded history looks like.
const (
	ordersApiece = 20 // of one person, who deposited once for all of them
	peopleAtOnce = 50 // in one batch of inserts
	seedWriters  = 4
	seedFiat     = "NGN"
	seedStep     = 7 * time.Second      // between two orders
	seedAge      = 31 * 24 * time.Hour  // of the youngest: no limit counts it any more
	seedMost     = 5_000_000            // orders of one run
	seedLedger   = "load:seed"          // begins the transactions that no chain has
	seedAddress  = "0x%040x"            // nobody's
	seedNames    = "SEEDED PERSON %07d" // as the bank would have resolved it
)

// seedRun is one filling of a store. Every order goes through the order table itself, so what is written is what a sale
// would have written; only the messages and look-ups of an old sale are left out.
type seedRun struct {
	app      *app
	key      []byte
	token    assets.Token
	rate     money.Rate
	fee      assets.Fee
	first    time.Time
	run      int64 // tells this run's people and transactions from another's
	known    map[string]bool
	exponent int
}

// seedRate is the price of every seeded sale: 1,500 naira for a token, in minor units for micro-units.
func seedRate() money.Rate { return money.Rate{Num: 150_000, Den: 1_000_000} }

// runSeed writes final orders into the configured store, in batches of whole people. Documents that prove an order come
// before the order, so that what an interrupted run leaves is at most a person without a sale.
func runSeed(cmd *cobra.Command, out io.Writer, p loadPlan) error {
	if p.seedOrders < 1 || p.seedOrders > seedMost {
		return &misuseError{fmt.Errorf("--seed-orders must be 1 to %d", seedMost)}
	}
	if err := refuseProduction(); err != nil {
		return err
	}
	return withStore(cmd, func(ctx context.Context, a *app) error {
		start := time.Now()
		if err := seedStore(ctx, a, p.seedOrders, start); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%d orders seeded in %s\n", p.seedOrders, time.Since(start).Round(time.Millisecond))
		return err
	})
}

func seedStore(ctx context.Context, a *app, orders int, start time.Time) error {
	token, found := a.registry.Token(loadAsset, loadChain)
	fiat, knownFiat := a.registry.Fiat(seedFiat)
	if !found || !knownFiat {
		return fmt.Errorf("the registry has no %s on %s, or no %s: nothing can be seeded", loadAsset, loadChain, seedFiat)
	}
	r := &seedRun{
		app: a, key: a.lookupKey(), token: token, rate: seedRate(), fee: fiat.Fee, run: start.UnixMilli() % 1_000_000_000, known: map[string]bool{},
		first: start.UTC().Truncate(time.Millisecond).Add(-seedAge - time.Duration(orders)*seedStep), exponent: fiat.Exponent,
	}
	g, writing := errgroup.WithContext(ctx)
	g.SetLimit(seedWriters)
	for done, person := 0, 0; done < orders && writing.Err() == nil; {
		b := &seedBatch{docs: map[store.Collection][]store.Document{}}
		for range peopleAtOnce {
			n := min(ordersApiece, orders-done)
			if n == 0 {
				break
			}
			if err := r.person(b, person, done, n); err != nil {
				return errors.Join(err, g.Wait())
			}
			done, person = done+n, person+1
		}
		g.Go(func() error { return b.write(writing, a.db) })
	}
	return errors.Join(g.Wait(), ctx.Err())
}

// seedBatch holds the documents of a few people and writes each kind in one round trip.
type seedBatch struct {
	docs map[store.Collection][]store.Document
}

func (b *seedBatch) add(c store.Collection, d store.Document) { b.docs[c] = append(b.docs[c], d) }

// seedOrder is the order of the writes: what is pointed at comes first.
func seedOrder() []store.Collection {
	return []store.Collection{
		store.Users, store.Beneficiaries, store.Quotes, store.Outbox, store.Postings, store.Audit, store.Heads, store.Links, store.Deposits,
		store.Accounts, store.Orders,
	}
}

func (b *seedBatch) write(ctx context.Context, db store.Engine) error {
	for _, c := range seedOrder() {
		docs := b.docs[c]
		if len(docs) == 0 {
			continue
		}
		isNew, err := db.Append(ctx, c, docs)
		if err != nil {
			return fmt.Errorf("seed %s: %w", c, err)
		}
		for i, stored := range isNew {
			if !stored {
				return fmt.Errorf("seed %s: %s is there already", c, docs[i].Head().ID)
			}
		}
	}
	return nil
}

// trail appends an entry by the rules of the trail itself.
func (b *seedBatch) trail(heads *seedHeads, e audit.Entry) error {
	if err := audit.Append(heads, e); err != nil {
		return err
	}
	b.add(store.Audit, heads.entry)
	return nil
}

// seedHeads is a transaction in memory that is just enough for the trail: it holds the heads of streams and catches each
// entry.
type seedHeads struct {
	store.Tx
	heads map[string]*audit.Head
	entry *audit.Entry
}

// Get implements store.Reader.
func (h *seedHeads) Get(_ store.Collection, id string, into store.Document) error {
	head, there := h.heads[id]
	if !there {
		return store.ErrNotFound
	}
	*into.(*audit.Head) = *head //nolint:forcetypeassert // the trail reads nothing but heads
	return nil
}

// Insert implements store.Tx.
func (h *seedHeads) Insert(_ store.Collection, d store.Document) error { return h.Replace("", d) }

// Replace implements store.Tx.
func (h *seedHeads) Replace(_ store.Collection, d store.Document) error {
	switch d := d.(type) {
	case *audit.Entry:
		h.entry = d
	case *audit.Head:
		kept := *d
		h.heads[d.ID] = &kept
	default:
		return fmt.Errorf("seed %s: not a document of the trail", d.Head().ID)
	}
	return nil
}

// link makes an id findable, as a sale does.
func (b *seedBatch) link(id, kind, target string) {
	l := &store.Link{Kind: kind, Target: target}
	l.ID, l.Version = ids.NormalID(id)+"|"+target, 1
	b.add(store.Links, l)
}

// deposit credits what all sales of a person will take.
func (r *seedRun) deposit(b *seedBatch, account *ledger.Account, person int, amount money.Micro, at time.Time) error {
	raw, err := money.MicroToRaw(amount, r.token.Decimals)
	if err != nil {
		return err
	}
	d, err := seededDeposit(r, account.User, person, amount, raw, at)
	if err != nil {
		return err
	}
	steps := &ledger.Steps{Account: account, At: at}
	if err := steps.DepositConfirmed(ids.DepositSource(d.ID, d.Epoch), loadChain, amount); err != nil {
		return err
	}
	d.Tail = ledger.Seal("deposit:"+d.ID, d.Tail, steps.Postings)
	for _, p := range steps.Postings {
		b.add(store.Postings, p)
	}
	b.add(store.Deposits, d)
	b.link(d.Tx, "deposit", d.ID)
	return nil
}

// transaction is the hash of a transaction that no chain has.
func (r *seedRun) transaction(person int) string {
	n := new(big.Int).Lsh(big.NewInt(r.run), 64)
	return fmt.Sprintf("0x5eed%060x", n.Add(n, big.NewInt(int64(person))))
}
