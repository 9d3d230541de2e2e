package archtest_test

import (
	"go/ast"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoPackageState refuses package variables that are written after their declaration, and those made to be written (locks,
// atomics, wait groups). Read-only tables, compiled expressions and error values are welcome. Test files are left alone.
func TestNoPackageState(t *testing.T) {
	t.Parallel()
	packages := map[string][]goFile{}
	for _, f := range goFiles(t) {
		if !f.isTest() {
			packages[f.pkg] = append(packages[f.pkg], f)
		}
	}
	for _, files := range packages {
		vars := packageVars(files)
		for _, f := range files {
			for _, name := range stateIn(f.syntax, vars) {
				t.Errorf("%s: package variable %s is state; keep it in a value that is passed", f.path, name)
			}
		}
	}
}

func TestPackageStateIsSeen(t *testing.T) {
	t.Parallel()
	f := parse(t, `package p
import "sync"
var table = map[string]int{"a": 1}
var count int
var mu sync.Mutex
var last struct{ at int }
func f() {
	count++
	table["b"] = 2
	last.at = 3
	table := map[string]int{}
	table["c"] = 4
}
func g(count int) { count = 5; _ = table["a"] }`)
	require.ElementsMatch(t, []string{"mu", "count", "table", "last"}, stateIn(f, packageVars([]goFile{{syntax: f}})))
}

// packageVars returns the names of the variables that the files declare at top level.
func packageVars(files []goFile) map[string]bool {
	vars := map[string]bool{}
	for _, f := range files {
		for _, spec := range topLevelVars(f.syntax) {
			for _, name := range spec.Names {
				vars[name.Name] = true
			}
		}
	}
	return vars
}

// stateIn returns the package variables that the file writes, or declares with a type made for writing.
func stateIn(f *ast.File, vars map[string]bool) []string {
	var found []string
	declared := map[any]bool{}
	for _, spec := range topLevelVars(f) {
		declared[spec] = true
		if name := spec.Names[0].Name; name != "_" && isMutable(spec.Type) {
			found = append(found, name)
		}
	}
	written := func(target ast.Expr) {
		id := rootOf(target)
		if id == nil || id.Name == "_" || !vars[id.Name] {
			return
		}
		if id.Obj == nil || declared[id.Obj.Decl] { // a variable of another file, or of this one; else a local of the same name
			found = append(found, id.Name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, target := range n.Lhs {
					written(target)
				}
			}
		case *ast.IncDecStmt:
			written(n.X)
		}
		return true
	})
	return found
}

func topLevelVars(f *ast.File) []*ast.ValueSpec {
	var specs []*ast.ValueSpec
	for _, decl := range f.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.VAR {
			for _, spec := range gen.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok {
					specs = append(specs, spec)
				}
			}
		}
	}
	return specs
}

// isMutable reports whether the type is of package sync or sync/atomic.
func isMutable(typ ast.Expr) bool {
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	sel, ok := typ.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && (pkg.Name == "sync" || pkg.Name == "atomic")
}

// rootOf returns x of x, x.f, x[i] and *x.
func rootOf(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
