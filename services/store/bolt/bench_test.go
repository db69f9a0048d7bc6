package bolt_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
	"offrampbot/services/store/bolt"
	"offrampbot/services/testkit"
)

// BenchmarkUpdate writes one indexed document to each of five collections, in a temporary store and in a durable one.
func BenchmarkUpdate(b *testing.B) {
	five := []store.Collection{"one", "two", "three", "four", "five"}
	var indexes []store.Index
	for _, c := range five {
		indexes = append(indexes, store.Index{Collection: c, Name: "name", Fields: []string{"name"}})
	}
	for name, path := range map[string]string{"temporary": "", "durable": filepath.Join(b.TempDir(), "store.bolt")} {
		b.Run(name, func(b *testing.B) {
			e, err := bolt.Open(bolt.Options{Path: path, Indexes: indexes, Now: testkit.Noon().Now, Timeout: time.Minute})
			require.NoError(b, err)
			n := 0
			run := fmt.Sprint(testkit.Random(b), "-")
			for b.Loop() {
				n++
				require.NoError(b, e.Update(b.Context(), func(_ context.Context, tx store.Tx) error {
					for _, c := range five {
						if err := tx.Insert(c, &thing{Meta: store.Meta{ID: fmt.Sprint(run, n)}, Name: "name"}); err != nil {
							return err
						}
					}
					return nil
				}))
			}
			require.NoError(b, e.Close(context.WithoutCancel(b.Context())))
		})
	}
}
