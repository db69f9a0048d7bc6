// Package inbox stores deliveries from outside before they are acknowledged, and handles them afterwards: in order and
// one at a time within a partition, in parallel across partitions, each in the transaction that marks it done (R16–R21
// with W16, W17, W24, D12).
package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"offrampbot/services/delivery"
	"offrampbot/services/store"
)

// Inbox is the intake.
type Inbox struct {
	engine  store.Engine
	sealer  Sealer
	metrics Metrics
	log     *slog.Logger
}

// New returns an Inbox.
func New(engine store.Engine, sealer Sealer, metrics Metrics, log *slog.Logger) (*Inbox, error) {
	switch {
	case engine == nil:
		return nil, errors.New("make inbox: engine is missing")
	case sealer == nil:
		return nil, errors.New("make inbox: sealer is missing")
	case metrics == nil:
		return nil, errors.New("make inbox: metrics is missing")
	case log == nil:
		return nil, errors.New("make inbox: log is missing")
	}
	return &Inbox{engine: engine, sealer: sealer, metrics: metrics, log: log}, nil
}

// Store stores the receipts of one webhook durably in one round trip, bodies sealed, and says for each whether it is
// new. Once it returns without error the delivery may be acknowledged; after an error it must not be, and the sender's
// repeat is safe. A repeat changes nothing (R17); one with another fingerprint is counted and logged, and what is stored
// is never redefined (R18). Receipts of one partition keep the order they have in the batch. The receipts passed in stay
// as they are.
func (i *Inbox) Store(ctx context.Context, receipts []*delivery.Receipt) (isNew []bool, err error) {
	if len(receipts) == 0 {
		return nil, nil
	}
	docs, err := i.documents(receipts)
	if err != nil {
		return nil, err
	}
	isNew, err = i.engine.Append(ctx, store.Inbox, docs)
	if err != nil {
		return nil, fmt.Errorf("store deliveries: %w", err)
	}
	var known []*delivery.Receipt
	for n, r := range receipts {
		if !isNew[n] {
			known = append(known, r)
		}
	}
	if len(known) > 0 {
		i.compare(ctx, known)
	}
	return isNew, nil
}

// documents seals the bodies and spreads the times of reception, which order what was sent within one second.
func (i *Inbox) documents(receipts []*delivery.Receipt) ([]store.Document, error) {
	docs := make([]store.Document, len(receipts))
	place := make(map[string]time.Duration, len(receipts))
	for n, r := range receipts {
		if r.ID == "" || r.Source == "" || r.Partition == "" || r.Fingerprint == "" {
			return nil, fmt.Errorf("store delivery %q: id, source, partition or fingerprint is missing", r.ID)
		}
		sealed, err := i.sealer.Seal(r.Body, r.ID)
		if err != nil {
			return nil, fmt.Errorf("seal delivery %s: %w", r.ID, err)
		}
		doc := *r
		doc.Body = sealed
		doc.ReceivedAt = r.ReceivedAt.Add(place[r.Partition])
		place[r.Partition] += time.Millisecond
		docs[n] = &doc
	}
	return docs, nil
}

// compare looks whether repeats are what was stored. It decides nothing, so its failure is only logged.
func (i *Inbox) compare(ctx context.Context, known []*delivery.Receipt) {
	var other []*delivery.Receipt
	err := i.engine.View(ctx, func(_ context.Context, reader store.Reader) error {
		other = nil
		for _, r := range known {
			stored, err := delivery.Load(reader, r.ID)
			if errors.Is(err, store.ErrNotFound) { // swept between the two reads
				continue
			}
			if err != nil {
				return err
			}
			if stored.Fingerprint != r.Fingerprint {
				other = append(other, r)
			}
		}
		return nil
	})
	if err != nil {
		i.log.WarnContext(ctx, "repeated deliveries were not compared", "count", len(known), "error", err)
		return
	}
	for _, r := range other {
		i.metrics.DeliveryConflict(string(r.Source))
		i.log.ErrorContext(ctx, "delivery came again with other content and was ignored",
			"delivery_id", r.ID, "source", string(r.Source), "fingerprint", r.Fingerprint)
	}
	if same := len(known) - len(other); same > 0 {
		i.log.DebugContext(ctx, "repeated deliveries changed nothing", "count", same)
	}
}
