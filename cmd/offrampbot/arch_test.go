package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ring is a layer; a package imports only its own and inner ones, see allowed.
type ring string

const (
	leaf    ring = "leaf"    // pure; imports leaves
	engine  ring = "engine"  // services/store, the port: imports leaves
	domain  ring = "domain"  // logic and ports: leaves, store, domain
	order   ring = "order"   // services/offramp: as domain, and domain never imports it
	reader  ring = "reader"  // reads everything of the domain, orders too
	shared  ring = "shared"  // plumbing for adapters, imports no adapter
	adapter ring = "adapter" // inner rings and shared plumbing, never another adapter
	world   ring = "world"   // services/sandbox: leaves, domain and the Flow documents; only cmd imports it
	driver  ring = "driver"  // services/simulate: everything but cmd; only cmd imports it
	edge    ring = "edge"    // what HTTP and chat need, see edges
	command ring = "command" // cmd: everything
	tests   ring = "tests"   // imported by tests and each other only
)

// rings places every package of the module. A new package is added here, after thinking about where it belongs.
var rings = map[string]ring{
	"services/fault": leaf, "services/money": leaf, "services/ids": leaf, "services/phone": leaf, "services/seal": leaf,
	"services/texts": leaf, "services/assets": leaf, "services/point": leaf,
	"services/store":    engine,
	"services/delivery": domain, "services/operation": domain, "services/user": domain, "services/quote": domain,
	"services/ledger": domain, "services/deposit": domain, "services/exchange": domain, "services/payout": domain,
	"services/limits": domain, "services/screening": domain, "services/audit": domain, "services/admin": domain,
	"services/setting":   domain,
	"services/offramp":   order,
	"services/invariant": reader, "services/reconcile": reader, "services/story": reader, "services/figures": reader,
	"services/config": shared, "services/obs": shared, "services/obs/alerts": shared, "services/redishook": shared, "services/outside": shared, "services/loop": shared,
	"services/store/mongo": adapter, "services/store/bolt": adapter, "services/guard": adapter, "services/lock": adapter,
	"services/ratelimit": adapter, "services/session": adapter, "services/inbox": adapter, "services/outbox": adapter,
	"services/whatsapp": adapter, "services/providers/paystack": adapter, "services/chains/evm": adapter,
	"services/slip":    adapter,
	"services/sandbox": world, "services/simulate": driver,
	"flows_json": edge, "commands": edge, "flows": edge, "bot": edge, "webhooks": edge, "webhooks/pages": edge,
	"cmd/offrampbot":   command,
	"services/testkit": tests, "services/store/storetest": tests, "services/offramp/offramptest": tests, "services/payout/payouttest": tests,
	"services/exchange/exchangetest": tests, "services/deposit/chaintest": tests, "services/redishook/redistest": tests,
	"scripts/testreport": command,
}

// allowed says which rings a ring may import.
var allowed = map[ring][]ring{
	leaf:    {leaf},
	engine:  {leaf},
	domain:  {leaf, engine, domain},
	order:   {leaf, engine, domain},
	reader:  {leaf, engine, domain, order, reader},
	shared:  {leaf, engine, domain, shared},
	adapter: {leaf, engine, domain, order, reader, shared},
	world:   {leaf, engine, domain, order, reader},
	driver:  {leaf, engine, domain, order, reader, shared, adapter, world, edge},
	edge:    {leaf, engine, domain, order, reader, shared, adapter},
	command: {leaf, engine, domain, order, reader, shared, adapter, world, driver, edge},
	tests:   {leaf, engine, domain, order, reader, shared, adapter, world, driver, edge, tests},
}

// edges says which edge packages may import which.
var edges = map[string][]string{
	"webhooks":         {"bot", "flows"},
	"webhooks/pages":   {},
	"bot":              {"commands", "flows"},
	"flows":            {"flows_json"},
	"commands":         {},
	"flows_json":       {},
	"services/sandbox": {"flows_json"},
}

// borders says which packages may import a library, by the beginning of its path. Packages for tests may import all.
var borders = map[string][]string{
	"github.com/gin-gonic/gin":                   {"webhooks", "services/sandbox", "cmd/offrampbot"},
	"go.mongodb.org/mongo-driver/v2":             {"services/store/mongo", "cmd/offrampbot"},
	"go.mongodb.org/mongo-driver/v2/bson":        {"services/store/mongo", "services/store/bolt", "cmd/offrampbot"},
	"go.etcd.io/bbolt":                           {"services/store/bolt"},
	"github.com/redis/go-redis":                  {"services/guard", "services/lock", "services/ratelimit", "services/session", "services/redishook", "cmd/offrampbot"},
	"github.com/go-redis/redis_rate":             {"services/ratelimit"},
	"github.com/alicebob/miniredis":              {"cmd/offrampbot", "services/simulate"},
	"github.com/golang-jwt/jwt":                  {"services/admin"},
	"github.com/pquerna/otp":                     {"services/admin", "cmd/offrampbot"},
	"github.com/ethereum/go-ethereum":            {"services/chains/evm", "services/sandbox"},
	"github.com/btcsuite/btcd":                   {"services/chains/evm", "services/sandbox"},
	"github.com/spf13/cobra":                     {"cmd/offrampbot"},
	"github.com/prometheus/client_golang":        {"services/obs"},
	"github.com/caarlos0/env":                    {"services/config"},
	"github.com/nyaruka/phonenumbers":            {"services/phone"},
	"github.com/go-playground/validator":         {"services/config", "webhooks", "services/sandbox"},
	"github.com/ethereum/go-ethereum/node":       {},
	"github.com/ethereum/go-ethereum/eth/":       {},
	"github.com/ethereum/go-ethereum/ethclient/": {},
	"go.mongodb.org/mongo-driver/mongo":          {},
	"github.com/pkg/errors":                      {},
	"github.com/stretchr/testify":                {},
	"github.com/google/go-cmp":                   {},
	"pgregory.net/rapid":                         {},
	"go.uber.org/goleak":                         {},
	"github.com/chromedp":                        {},
	"log":                                        {},
}

const module = "offrampbot/"

// source is one parsed file that is no test.
type source struct {
	dir  string // from the module's root, with slashes
	file string
	tree *ast.File
	set  *token.FileSet
}

// sources parses every file of the module that is not a test, whatever its build tags.
func sources(t *testing.T) []source {
	t.Helper()
	return sourcesWhere(t, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
}

// sourcesWhere parses the files of the module whose names are wanted.
func sourcesWhere(t *testing.T, isWanted func(name string) bool) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	set := token.NewFileSet()
	var out []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || !isWanted(name) {
			return nil
		}
		tree, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		rel, err := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		out = append(out, source{dir: path.Dir(rel), file: rel, tree: tree, set: set})
		return err
	})
	require.NoError(t, err)
	require.Greater(t, len(out), 50, "the walk found the module")
	return out
}

func TestArch_packagesImportOnlyInnerRings(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		own, known := rings[s.dir]
		if !known {
			if s.dir != "." { // a file of the root that only pins dependencies
				t.Errorf("%s: package %s is in no ring; add it to the table", s.file, s.dir)
			}
			continue
		}
		for _, spec := range s.tree.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if !strings.HasPrefix(imported, module) {
				if !libraryAllowed(s.dir, own, imported) {
					t.Errorf("%s: %s may not import %s", s.file, s.dir, imported)
				}
				continue
			}
			target := strings.TrimPrefix(imported, module)
			if !oursAllowed(s.dir, own, target) {
				t.Errorf("%s: %s (%s) may not import %s (%s)", s.file, s.dir, own, target, rings[target])
			}
		}
	}
}

// oursAllowed judges an import of a package of this module.
func oursAllowed(dir string, own ring, target string) bool {
	if rings[target] == edge && own != command && own != driver && own != tests {
		return slices.Contains(edges[dir], target)
	}
	return slices.Contains(allowed[own], rings[target])
}

// libraryAllowed judges an import of anything else: the longest border that fits decides.
func libraryAllowed(dir string, own ring, imported string) bool {
	if own == tests {
		return true
	}
	if imported == "net/http" && slices.Contains([]ring{leaf, engine, domain, order, reader}, own) {
		return false
	}
	best, who := "", []string(nil)
	for border, dirs := range borders {
		fits := imported == border || strings.HasPrefix(imported, strings.TrimSuffix(border, "/")+"/") && border != "log"
		if strings.HasSuffix(border, "/") && imported == strings.TrimSuffix(border, "/") {
			fits = false
		}
		if fits && len(border) > len(best) {
			best, who = border, dirs
		}
	}
	return best == "" || slices.Contains(who, dir)
}

func TestArch_rulesCanFail(t *testing.T) {
	t.Parallel()
	for _, no := range [][2]string{
		{"services/money", "services/store"},
		{"services/store", "services/audit"},
		{"services/ledger", "services/offramp"},
		{"services/offramp", "services/invariant"},
		{"services/guard", "services/lock"},
		{"services/config", "services/guard"},
		{"webhooks", "commands"},
		{"flows", "bot"},
		{"services/user", "flows"},
		{"bot", "services/sandbox"},
		{"services/sandbox", "services/whatsapp"},
		{"webhooks", "services/testkit"},
		{"services/sandbox", "flows"},
	} {
		require.False(t, oursAllowed(no[0], rings[no[0]], no[1]), no)
	}
	for _, yes := range [][2]string{
		{"services/invariant", "services/offramp"},
		{"services/sandbox", "flows_json"},
		{"webhooks", "bot"},
		{"cmd/offrampbot", "services/simulate"},
		{"services/simulate", "webhooks"},
		{"services/whatsapp", "services/config"},
	} {
		require.True(t, oursAllowed(yes[0], rings[yes[0]], yes[1]), yes)
	}
	for _, no := range [][2]string{
		{"bot", "github.com/gin-gonic/gin"},
		{"services/store/bolt", "go.mongodb.org/mongo-driver/v2/mongo"},
		{"services/payout", "net/http"},
		{"webhooks", "log"},
		{"services/chains/evm", "github.com/ethereum/go-ethereum/ethclient/simulated"},
		{"services/chains/evm", "github.com/ethereum/go-ethereum/eth/downloader"},
		{"services/offramp", "github.com/stretchr/testify/require"},
	} {
		require.False(t, libraryAllowed(no[0], rings[no[0]], no[1]), no)
	}
	for _, yes := range [][2]string{
		{"services/store/bolt", "go.mongodb.org/mongo-driver/v2/bson"},
		{"webhooks", "log/slog"},
		{"webhooks", "net/http"},
		{"services/chains/evm", "github.com/ethereum/go-ethereum/ethclient"},
		{"services/ids", "github.com/google/uuid"},
	} {
		require.True(t, libraryAllowed(yes[0], rings[yes[0]], yes[1]), yes)
	}
}
