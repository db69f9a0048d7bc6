package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
)

// unusedYet are the rows that no code names yet. The list only shrinks: a row that comes into use must leave it, and a
// new row is added together with its use.
var unusedYet = []string{"quote_taken", "payout_unknown"}

// root is the module's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		require.NotEqual(t, parent, dir, "no go.mod above the test")
		dir = parent
	}
}

// literals reads every Go file of the module but tests and this package. codes are the codes handed to fault by name,
// with the place; all are all string literals.
func literals(t *testing.T) (codes map[string]string, all map[string]bool) {
	t.Helper()
	codes, all = map[string]string{}, map[string]bool{}
	dir := root(t)
	self := filepath.Join(dir, "services", "fault")
	files := token.NewFileSet()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == self || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != dir):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			collect(n, files, codes, all)
			return true
		})
		return nil
	})
	require.NoError(t, err)
	return codes, all
}

// collect notes what one node says: a literal, or a code in fault.New("…"), fault.Is(err, "…"), fault.RowOf("…") or
// fault.Error{Code: "…"}.
func collect(n ast.Node, files *token.FileSet, codes map[string]string, all map[string]bool) {
	var named []ast.Expr
	switch n := n.(type) {
	case *ast.BasicLit:
		if s, ok := stringOf(n); ok {
			all[s] = true
		}
	case *ast.CallExpr:
		if name, ok := ofFault(n.Fun); ok && (name == "New" || name == "Is" || name == "RowOf") {
			named = n.Args
		}
	case *ast.CompositeLit:
		if name, ok := ofFault(n.Type); !ok || name != "Error" {
			return
		}
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Code" {
					named = append(named, kv.Value)
				}
			}
		}
	}
	for _, e := range named {
		if s, ok := stringOf(e); ok {
			codes[s] = files.Position(e.Pos()).String()
		}
	}
}

// ofFault is the name behind "fault." in an expression.
func ofFault(e ast.Expr) (string, bool) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := sel.X.(*ast.Ident)
	return sel.Sel.Name, ok && x.Name == "fault"
}

func stringOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

func TestTable_hasEveryCodeThatIsUsed(t *testing.T) {
	t.Parallel()
	codes, _ := literals(t)
	require.NotEmpty(t, codes)
	for code, place := range codes {
		require.Equal(t, code, fault.RowOf(code).Code, "%s names a code without a row", place)
	}
}

func TestTable_everyRowIsUsed(t *testing.T) {
	t.Parallel()
	_, all := literals(t)
	var unused []string
	for _, row := range fault.Rows() {
		if !all[row.Code] && row.Code != "internal" {
			unused = append(unused, row.Code)
		}
	}
	require.ElementsMatch(t, unusedYet, unused, "take off unusedYet what is used now; use or delete a row that nobody names")
}
