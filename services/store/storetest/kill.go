package storetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

// killVariable names the database to the child process of Kill.
const killVariable = "STORETEST_KILL_DATABASE"

// killAfter is how many acknowledged commits the child makes before it is killed, in the middle of the next ones.
const killAfter = 60

// Kill proves that an acknowledged commit survives kill -9: the test binary runs itself as a child, which commits in a
// loop and prints each id once Update or Append has returned; the child is killed; every printed id must be there, whole
// transactions only. Call it from a top-level test with the database to use and a function that opens it.
func Kill(t *testing.T, database string, open func(t *testing.T, database string, indexes []store.Index) store.Engine) {
	t.Helper()
	if name := os.Getenv(killVariable); name != "" {
		commitForEver(t, open(t, name, Indexes()))
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.timeout=60s")
	child.Env = append(os.Environ(), killVariable+"="+database)
	output, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var acknowledged []string
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		id, ok := strings.CutPrefix(lines.Text(), "acknowledged ")
		if !ok {
			continue
		}
		if acknowledged = append(acknowledged, id); len(acknowledged) == killAfter {
			require.NoError(t, child.Process.Kill())
		}
	}
	require.Error(t, child.Wait(), "the child is killed, it does not end by itself")
	require.GreaterOrEqual(t, len(acknowledged), killAfter)

	e := open(t, database, Indexes())
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		var i Item
		for _, id := range acknowledged {
			require.NoError(t, r.Get(items, id, &i), "acknowledged before the kill")
		}
		transactions := 0
		byKey, err := store.All[Item](r, store.Query{Collection: items, Index: "key"})
		for _, row := range byKey {
			require.NoError(t, r.Get(other, row.ID, &i), "the other half of its transaction")
			transactions++
		}
		require.Positive(t, transactions)
		return err
	}))
	put(t, e, item("the survivor goes on"))
}

// commitForEver is the child: transactions over two collections and appends, in turn.
func commitForEver(t *testing.T, e store.Engine) {
	for n := 0; ; n++ {
		i := item(fmt.Sprint("n", n))
		if n%3 == 0 {
			_, err := e.Append(t.Context(), items, []store.Document{i})
			require.NoError(t, err)
		} else {
			i.Key = i.ID
			require.NoError(t, update(t, e, func(tx store.Tx) error {
				if err := tx.Insert(items, i); err != nil {
					return err
				}
				return tx.Insert(other, item(i.ID))
			}))
		}
		_, err := fmt.Fprintln(os.Stdout, "acknowledged", i.ID)
		require.NoError(t, err)
	}
}
