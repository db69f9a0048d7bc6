package webhooks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A handler's context belongs to the next request as soon as the handler returns (B74), so nothing here goes on behind
// its back: there is no goroutine in this package, and no field that could keep a context.
func TestSource_startsNoGoroutineAndKeepsNoContext(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	read := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(e.Name())
		require.NoError(t, err)
		require.Empty(t, lingering(t, string(text)), e.Name())
		read++
	}
	require.Greater(t, read, 10)
	require.Len(t, lingering(t, "package x\ntype keeper struct{ c *gin.Context }\nfunc f(c *gin.Context) { go g(c); g(c) }"), 2, "the rule can fail")
}

// lingering lists what could outlive a handler.
func lingering(t *testing.T, text string) (out []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), "x.go", text, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, "a goroutine")
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if star, ok := f.Type.(*ast.StarExpr); ok && isGinContext(star.X) {
					out = append(out, "a field that keeps a context")
				}
			}
		}
		return true
	})
	return out
}

func isGinContext(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Context" && isIdent(s.X, "gin")
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
