package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"offrampbot/services/store"
)

// CheckpointStream holds the checkpoints: entries that chain all streams together, so that a whole stream that vanishes
// with its head is noticed too (DESIGN §12).
const CheckpointStream = "checkpoint"

// settleTime is how old an entry is when no transaction that could still write beside it is running.
const settleTime = 2 * time.Minute

// Checkpointer digests, again and again, every entry of every stream since the checkpoint before.
type Checkpointer struct {
	engine store.Engine
	every  time.Duration
	now    func() time.Time
}

// NewCheckpointer makes one checkpoint per period.
func NewCheckpointer(engine store.Engine, every time.Duration, now func() time.Time) (*Checkpointer, error) {
	if engine == nil || now == nil || every <= 0 {
		return nil, errors.New("make checkpointer: engine, period and clock are required")
	}
	return &Checkpointer{engine, every, now}, nil
}

// span is what one checkpoint covers: entries with from ≤ At < until.
type span struct {
	from, until time.Time
	digest      string
	entries     int
}

// Step makes a checkpoint when the last one is old enough. Two processes may try: the head of the stream is the guard,
// and the second finds that the range has been covered.
func (c *Checkpointer) Step(ctx context.Context) (worked bool, err error) {
	last, err := c.last(ctx)
	if err != nil {
		return false, err
	}
	until := c.now().UTC().Truncate(time.Millisecond).Add(-settleTime)
	if until.Sub(last.until) < c.every {
		return false, nil
	}
	next := span{from: last.until, until: until}
	if err := c.cover(ctx, &next); err != nil {
		return false, err
	}
	err = c.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		now, err := lastSpan(tx)
		if err != nil || !now.until.Equal(next.from) {
			return err
		}
		return Append(tx, Entry{
			Stream: CheckpointStream, At: c.now(), Actor: "system", Action: "checkpoint", After: next.digest,
			Data: map[string]string{
				"from": millis(next.from), "until": millis(next.until), "entries": strconv.Itoa(next.entries),
			},
		})
	})
	return err == nil, err
}

func millis(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

func (c *Checkpointer) last(ctx context.Context) (s span, err error) {
	err = c.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		s, err = lastSpan(r)
		return err
	})
	return s, err
}

func lastSpan(r store.Reader) (span, error) {
	var head Head
	err := r.Get(store.Heads, CheckpointStream, &head)
	if errors.Is(err, store.ErrNotFound) {
		return span{}, nil
	}
	if err != nil {
		return span{}, err
	}
	var e Entry
	if err := r.Get(store.Audit, ID(CheckpointStream, head.Seq), &e); err != nil {
		return span{}, fmt.Errorf("read last checkpoint: %w", err)
	}
	return spanOf(&e)
}

func spanOf(e *Entry) (span, error) {
	from, err1 := strconv.ParseInt(e.Data["from"], 10, 64)
	until, err2 := strconv.ParseInt(e.Data["until"], 10, 64)
	entries, err3 := strconv.Atoi(e.Data["entries"])
	if err := errors.Join(err1, err2, err3); err != nil {
		return span{}, fmt.Errorf("read checkpoint %s: %w", e.ID, err)
	}
	s := span{until: time.UnixMilli(until).UTC(), digest: e.After, entries: entries}
	if from != 0 {
		s.from = time.UnixMilli(from).UTC()
	}
	return s, nil
}

// coverPage is how many entries one snapshot reads.
const coverPage = 2000

// cover digests the entries of a span, a snapshot per page.
func (c *Checkpointer) cover(ctx context.Context, s *span) error {
	sum := sha256.New()
	var after store.Cursor
	for {
		n := 0
		err := c.engine.View(ctx, func(_ context.Context, r store.Reader) error {
			q := store.Query{Collection: store.Audit, Index: "at", Until: s.until, Limit: coverPage, After: after}
			if !s.from.IsZero() {
				q.From = s.from
			}
			return r.Find(q, func(decode store.Decode) (bool, error) {
				var e Entry
				if err := decode(&e); err != nil {
					return false, err
				}
				n++
				after = store.CursorOf(&e, e.At)
				if e.Stream == CheckpointStream {
					return true, nil
				}
				s.entries++
				_, err := io.WriteString(sum, e.ID+" "+e.Hash+"\n")
				return true, err
			})
		})
		if err != nil {
			return fmt.Errorf("digest audit entries: %w", err)
		}
		if n < coverPage {
			s.digest = hex.EncodeToString(sum.Sum(nil))
			return nil
		}
	}
}

// VerifyCheckpoints digests every span again and reports those that no longer hold.
func VerifyCheckpoints(ctx context.Context, engine store.Engine) ([]Broken, error) {
	c := &Checkpointer{engine: engine}
	var all []*Entry
	err := engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		all, err = store.All[Entry](r, store.Query{Collection: store.Audit, Index: "stream", Equal: []any{CheckpointStream}})
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []Broken
	for _, e := range all {
		kept, err := spanOf(e)
		if err != nil {
			return nil, err
		}
		now := span{from: kept.from, until: kept.until}
		if err := c.cover(ctx, &now); err != nil {
			return nil, err
		}
		if now.digest != kept.digest || now.entries != kept.entries {
			out = append(out, Broken{e.ID, fmt.Sprintf("covered %d entries, now there are %d, or others", kept.entries, now.entries)})
		}
	}
	return out, nil
}
