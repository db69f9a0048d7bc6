package bolt_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
	"offrampbot/services/store/bolt"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

func TestEngine_conforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, indexes []store.Index) store.Engine { return testkit.Bolt(t, indexes) })
}

func TestEngine_conformsOnAFile(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, indexes []store.Index) store.Engine {
		return openFile(t, filepath.Join(t.TempDir(), "store.bolt"), indexes)
	})
}

func TestEngine_keepsAcknowledgedCommitsThroughAKill(t *testing.T) {
	t.Parallel()
	storetest.Kill(t, filepath.Join(t.TempDir(), "store.bolt"), func(t *testing.T, path string, ix []store.Index) store.Engine {
		return openFile(t, path, ix)
	})
}

func TestEngine_addsAndDropsIndexes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.bolt")
	storetest.Migrate(t, func(t *testing.T, indexes []store.Index) storetest.Migrator { return openFile(t, path, indexes) })
}

func openFile(t *testing.T, path string, indexes []store.Index) *bolt.Engine {
	t.Helper()
	e, err := bolt.Open(bolt.Options{Path: path, Indexes: indexes, Now: testkit.Noon().Now, Timeout: 30 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.WithoutCancel(t.Context()))) })
	return e
}

type thing struct {
	store.Meta `bson:",inline"`
	Name       string   `bson:"name,omitempty"`
	Left       []string `bson:"left,omitempty"`
	Right      []string `bson:"right,omitempty"`
	Inner      *thing   `bson:"inner,omitempty"`
}

func insert(t *testing.T, e store.Engine, docs ...*thing) error {
	t.Helper()
	return e.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		for _, d := range docs {
			if err := tx.Insert("things", d); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestOpen_tellsASecondProcessWhoHasTheFile(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("BOLT_TEST_FILE"); path != "" {
		_, err := bolt.Open(bolt.Options{Path: path, Now: testkit.Noon().Now})
		fmt.Println("second process:", err)
		return
	}
	path := filepath.Join(t.TempDir(), "store.bolt")
	e := openFile(t, path, nil)
	host, err := os.Hostname()
	require.NoError(t, err)
	want := fmt.Sprintf("in use by process %d on %s", os.Getpid(), host)

	second := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOpen_tellsASecondProcessWhoHasTheFile$")
	second.Env = append(os.Environ(), "BOLT_TEST_FILE="+path)
	output, err := second.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(output), want)

	_, err = bolt.Open(bolt.Options{Path: path, Now: testkit.Noon().Now})
	require.ErrorContains(t, err, want, "the same process is told as well")
	require.NoError(t, e.Close(t.Context()))
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "the note goes with its process")
	openFile(t, path, nil)
}

func TestOpen_rebuildsAnIndexThatIsDeclaredDifferently(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.bolt")
	index := store.Index{Collection: "things", Name: "by", Fields: []string{"name"}}
	e := openFile(t, path, []store.Index{index})
	require.NoError(t, insert(t, e,
		&thing{Meta: store.Meta{ID: "a"}, Name: "same", Inner: &thing{Name: "x"}}, &thing{Meta: store.Meta{ID: "b"}, Name: "same"}))
	require.NoError(t, e.Close(t.Context()))

	index.Unique = true
	_, err := bolt.Open(bolt.Options{Path: path, Indexes: []store.Index{index}, Now: testkit.Noon().Now})
	require.ErrorIs(t, err, &store.ErrDuplicate{Collection: "things", Index: "by"}, "stored documents clash")

	index.Fields = []string{"inner.name"}
	e = openFile(t, path, []store.Index{index})
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		rows, err := store.All[thing](r, store.Query{Collection: "things", Index: "by", Equal: []any{"x"}})
		require.Len(t, rows, 1)
		return err
	}))
}

func TestOpen_refusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	now := testkit.Noon().Now
	ix := store.Index{Collection: "things", Name: "name", Fields: []string{"name"}}
	tests := []struct {
		name    string
		options bolt.Options
		want    string
	}{
		{"no clock", bolt.Options{}, "Now is nil"},
		{"no such folder", bolt.Options{Path: filepath.Join(t.TempDir(), "none", "f"), Now: now}, "no such file"},
		{"an index twice", bolt.Options{Now: now, Indexes: []store.Index{ix, ix}}, "declared twice"},
		{"an index without fields", bolt.Options{Now: now, Indexes: []store.Index{{Collection: "c", Name: "n"}}}, "needs fields"},
		{"an index called _id", bolt.Options{Now: now, Indexes: []store.Index{{Collection: "c", Name: "_id", Fields: []string{"a"}}}}, "usable name"},
	}
	for _, tt := range tests {
		_, err := bolt.Open(tt.options)
		require.ErrorContains(t, err, tt.want, tt.name)
	}
}

func TestUpdate_refusesDocumentsThatAnIndexCannotHold(t *testing.T) {
	t.Parallel()
	e := testkit.Bolt(t, []store.Index{
		{Collection: "things", Name: "both", Fields: []string{"left", "right"}},
		{Collection: "things", Name: "inner", Fields: []string{"inner"}},
	})
	require.ErrorIs(t, insert(t, e, &thing{Meta: store.Meta{ID: "a"}, Left: []string{"1"}, Right: []string{"2"}}), store.ErrIndex)
	require.ErrorIs(t, insert(t, e, &thing{Meta: store.Meta{ID: "b"}, Inner: &thing{}}), store.ErrIndex)
	require.NoError(t, insert(t, e, &thing{Meta: store.Meta{ID: "c"}, Left: []string{"1"}}))
}

func TestOpen_leavesNothingBehindForATemporaryStore(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	e := testkit.Bolt(t, nil)
	require.NoError(t, insert(t, e, &thing{Meta: store.Meta{ID: "a"}, Name: strings.Repeat("x", 1<<20)}))
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}
