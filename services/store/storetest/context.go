package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

func testNesting(t *testing.T, e store.Engine) {
	nothing := func(context.Context, store.Tx) error { return nil }
	look := func(context.Context, store.Reader) error { return nil }
	inside := func(ctx context.Context) {
		require.ErrorIs(t, e.Update(ctx, nothing), store.ErrNested)
		require.ErrorIs(t, e.View(ctx, look), store.ErrNested)
		_, err := e.Append(ctx, items, []store.Document{item("a")})
		require.ErrorIs(t, err, store.ErrNested)
	}
	require.NoError(t, e.Update(t.Context(), func(ctx context.Context, _ store.Tx) error { inside(ctx); return nil }))
	require.NoError(t, e.View(t.Context(), func(ctx context.Context, _ store.Reader) error { inside(ctx); return nil }))
	require.NoError(t, e.Update(t.Context(), nothing), "one after the other is fine")
}

// testDeadline holds a document in one transaction while another one wants it.
func testDeadline(t *testing.T, e store.Engine) {
	put(t, e, item("a"))
	held, release := make(chan struct{}), make(chan struct{})
	holder := make(chan error, 1)
	change := func(tx store.Tx) error {
		var i Item
		if err := tx.Get(items, "a", &i); err != nil {
			return err
		}
		i.Count++
		return tx.Replace(items, &i)
	}
	go func() {
		holder <- e.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
			if err := change(tx); err != nil {
				return err
			}
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	const patience = 150 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	late, stop := context.WithTimeout(t.Context(), 20*patience)
	defer stop()
	err := e.Update(ctx, func(_ context.Context, tx store.Tx) error { return change(tx) })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.NoError(t, late.Err(), "the caller's deadline is kept")
	close(release)
	require.NoError(t, <-holder)
	require.Equal(t, int64(1), load(t, e, "a").Count)

	// A transaction whose time is over is not committed, and a context that has ended starts nothing.
	ctx, cancel = context.WithCancel(t.Context())
	err = e.Update(ctx, func(_ context.Context, tx store.Tx) error {
		err := change(tx)
		cancel()
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, e.Update(ctx, func(_ context.Context, tx store.Tx) error { return change(tx) }), context.Canceled)
	_, err = e.Append(ctx, items, []store.Document{item("b")})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, int64(1), load(t, e, "a").Count)
	require.Nil(t, load(t, e, "b"))
}

// testSnapshot shows that a reader sees one moment, and never what is not committed.
func testSnapshot(t *testing.T, e store.Engine) {
	put(t, e, item("a"), item("b"))
	raise := func() {
		require.NoError(t, update(t, e, func(tx store.Tx) error {
			for _, id := range []string{"a", "b"} {
				var i Item
				if err := tx.Get(items, id, &i); err != nil {
					return err
				}
				i.Count++
				if err := tx.Replace(items, &i); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		var a, b Item
		require.NoError(t, r.Get(items, "a", &a))
		raise()
		require.NoError(t, r.Get(items, "b", &b))
		require.Equal(t, a.Count, b.Count)
		rows, err := store.All[Item](r, store.Query{Collection: items, Index: store.ByID})
		require.NoError(t, err)
		require.Equal(t, a.Count, rows[1].Count)
		return nil
	}))
	require.Equal(t, int64(1), load(t, e, "a").Count, "a later reader sees what was committed")
}

func testWatch(t *testing.T, e store.Engine) {
	first, second, others := e.Watch(items), e.Watch(items), e.Watch(other)
	wakes := func(ch <-chan struct{}) (n int) {
		for {
			select {
			case <-ch:
				n++
			default:
				return n
			}
		}
	}
	put(t, e, item("a"))
	put(t, e, item("b"), item("c"))
	require.Equal(t, 1, wakes(first), "wake-ups of two commits are one")
	require.Equal(t, 1, wakes(second), "every watcher has its own")
	require.Zero(t, wakes(others))

	_, err := e.Append(t.Context(), items, []store.Document{item("d")})
	require.NoError(t, err)
	require.Equal(t, 1, wakes(first))

	require.Error(t, update(t, e, func(tx store.Tx) error {
		require.NoError(t, tx.Insert(items, item("e")))
		return context.Canceled
	}))
	inserted := true
	require.NoError(t, update(t, e, func(tx store.Tx) (err error) {
		inserted, err = tx.Ensure(items, item("a"))
		return err
	}))
	require.False(t, inserted)
	require.Zero(t, wakes(first), "neither a rollback nor a transaction without a write wakes anybody")
}

// bell is a document that wakes the watchers of its group.
type bell struct {
	Item `bson:",inline"`
}

// Wakes implements store.Waker.
func (b *bell) Wakes() string { return b.Group }

func testWatchTopics(t *testing.T, e store.Engine) {
	red, blue, both, all := e.Watch(items, "red"), e.Watch(items, "blue"), e.Watch(items, "red", "blue"), e.Watch(items)
	wakes := func() (woken []bool) {
		for _, ch := range []<-chan struct{}{red, blue, both, all} {
			select {
			case <-ch:
				woken = append(woken, true)
			default:
				woken = append(woken, false)
			}
		}
		return woken
	}
	ring := func(id, group string) *bell {
		b := &bell{*item(id)}
		b.Group = group
		return b
	}
	b := ring("a", "red")
	require.NoError(t, update(t, e, func(tx store.Tx) error { return tx.Insert(items, b) }))
	require.Equal(t, []bool{true, false, true, true}, wakes())
	b.Group = ""
	require.NoError(t, update(t, e, func(tx store.Tx) error { return tx.Replace(items, b) }))
	require.Equal(t, []bool{false, false, false, true}, wakes(), "it concerns nobody in particular")
	_, err := e.Append(t.Context(), items, []store.Document{ring("b", ""), ring("c", "blue")})
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, true, true}, wakes())
	require.NoError(t, update(t, e, func(tx store.Tx) error {
		if err := tx.Insert(items, ring("d", "blue")); err != nil {
			return err
		}
		_, err := tx.Ensure(items, ring("e", "red"))
		return err
	}))
	require.Equal(t, []bool{true, true, true, true}, wakes(), "each document of a transaction counts")
	require.NoError(t, update(t, e, func(tx store.Tx) error { return tx.Delete(items, "d", 1) }))
	require.Equal(t, []bool{true, true, true, true}, wakes(), "what a deleted document was, nobody knows")
	put(t, e, item("plain"))
	require.Equal(t, []bool{true, true, true, true}, wakes(), "a document without topics concerns everybody")
}

func testClosed(t *testing.T, e store.Engine) {
	put(t, e, item("a"))
	require.NoError(t, e.Close(t.Context()))
	require.NoError(t, e.Close(t.Context()), "closing twice is fine")
	require.ErrorIs(t, update(t, e, func(store.Tx) error { return nil }), store.ErrClosed)
	require.ErrorIs(t, e.View(t.Context(), func(context.Context, store.Reader) error { return nil }), store.ErrClosed)
	_, err := e.Append(t.Context(), items, []store.Document{item("b")})
	require.ErrorIs(t, err, store.ErrClosed)
}
