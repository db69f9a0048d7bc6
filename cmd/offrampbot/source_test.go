package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	maxFileLines = 500
	maxFuncLines = 70
)

// banned are calls that code outside cmd may not make: time, waiting and root contexts are given to it.
var banned = map[string]string{
	"time.Now": "take now func() time.Time", "time.Sleep": "wait for a signal or a due time",
	"context.Background": "take the caller's context", "context.TODO": "take the caller's context",
	"fmt.Print": "log, or return a value", "fmt.Println": "log, or return a value", "fmt.Printf": "log, or return a value",
}

// TestSource_keepsTheHouseRules checks what a reader would otherwise have to: it is the gate where the linter of
// .golangci.yml is not installed.
func TestSource_keepsTheHouseRules(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		own := rings[s.dir]
		if own == command || own == tests || s.dir == "." {
			continue
		}
		for _, problem := range problems(s, own) {
			t.Error(problem)
		}
	}
}

// problems lists what one file does that the house rules forbid.
func problems(s source, own ring) []string {
	var out []string
	allowed := exempt(s)
	add := func(node ast.Node, why string) {
		if line := s.set.Position(node.Pos()).Line; !slices.Contains(allowed, line) {
			out = append(out, s.set.Position(node.Pos()).String()+": "+why)
		}
	}
	if isTooLong(s) {
		add(s.tree, "file has more than 500 lines")
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				add(n, "init is forbidden")
			}
			if n.Body != nil && s.set.Position(n.End()).Line-s.set.Position(n.Pos()).Line >= maxFuncLines {
				add(n, n.Name.Name+" has more than 70 lines")
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok {
				if why, no := banned[pkg.Name+"."+n.Sel.Name]; no {
					add(n, pkg.Name+"."+n.Sel.Name+" is forbidden here: "+why)
				}
			}
		case *ast.Ident:
			if (n.Name == "float64" || n.Name == "float32") && slices.Contains([]ring{leaf, engine, domain, order, reader}, own) {
				add(n, "a floating-point type near money")
			}
		}
		return true
	})
	return out
}

func isTooLong(s source) bool { return s.set.Position(s.tree.FileEnd).Line > maxFileLines }

// Tests may be as long as they like, their files may not.
func TestSource_filesOfTestsAreNotTooLong(t *testing.T) {
	t.Parallel()
	for _, s := range sourcesWhere(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		if isTooLong(s) {
			t.Errorf("%s has more than %d lines", s.file, maxFileLines)
		}
	}
}

// exempt lists the lines that a nolint comment with a reason covers: its own and the next one.
func exempt(s source) []int {
	var out []int
	for _, group := range s.tree.Comments {
		for _, c := range group.List {
			rule, reason, found := strings.Cut(strings.TrimPrefix(c.Text, "//nolint:"), " // ")
			if strings.HasPrefix(c.Text, "//nolint:") && found && rule != "" && reason != "" {
				line := s.set.Position(c.Pos()).Line
				out = append(out, line, line+1)
			}
		}
	}
	return out
}

func TestSource_suppressionsHaveReasons(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, group := range s.tree.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//nolint") {
					require.Regexp(t, `^//nolint:[a-z0-9,]+ // .+`, c.Text, s.set.Position(c.Pos()).String())
				}
				if upper := strings.ToUpper(c.Text); strings.Contains(upper, "TO"+"DO") || strings.Contains(upper, "FIX"+"ME") {
					require.Regexp(t, `#[0-9]+`, c.Text, s.set.Position(c.Pos()).String())
				}
			}
		}
	}
}

func TestSource_rulesCanFail(t *testing.T) {
	t.Parallel()
	const text = `package x

import ("context"; "fmt"; "time")

func init() {}

var price float64

func f() {
	time.Sleep(time.Since(time.Now()))
	fmt.Println(context.Background())
	time.Now() //nolint:forbidigo // the reason
}
` + "\nfunc long() {\n"
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "x.go", text+strings.Repeat("\tf()\n", maxFuncLines)+"}\n"+strings.Repeat("\n", maxFileLines),
		parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	got := strings.Join(problems(source{dir: "x", file: "x.go", tree: tree, set: set}, domain), "\n")
	for _, want := range []string{
		"more than 500 lines", "init is forbidden", "floating-point", "time.Sleep is", "10:24: time.Now is", "fmt.Println is",
		"context.Background is", "long has more than 70 lines",
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "12:", "a nolint with a reason exempts its line")
}
