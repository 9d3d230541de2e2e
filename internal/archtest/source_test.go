package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module     = "github.com/millstream/millstream/"
	moduleRoot = "../.."
)

// goFile is one parsed Go file of this module.
type goFile struct {
	path    string // from the module's root, with slashes
	pkg     string // its folder
	imports []string
	syntax  *ast.File
}

func (f goFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// goFiles parses all Go files of the module. Modules below it are left out.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	walk(t, func(name string) {
		if path.Ext(name) != ".go" {
			return
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), filepath.Join(moduleRoot, name), nil, parser.ParseComments)
		require.NoError(t, err)
		f := goFile{path: name, pkg: path.Dir(name), syntax: syntax}
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			f.imports = append(f.imports, strings.TrimPrefix(imported, module))
		}
		files = append(files, f)
	})
	require.NotEmpty(t, files)
	return files
}

// walk calls visit with the path of every file from the module's root, except what tools made and what lies in modules below.
func walk(t *testing.T, visit func(name string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(moduleRoot), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			visit(name)
			return nil
		}
		if name == "." {
			return nil
		}
		_, err = os.Stat(filepath.Join(moduleRoot, name, "go.mod"))
		if err == nil || isOutput(name) {
			return fs.SkipDir
		}
		return nil
	})
	require.NoError(t, err)
}

// isOutput reports whether a folder is left out of version control or holds data instead of code.
func isOutput(name string) bool {
	switch name {
	case ".git", ".cache", ".tools", "bin", "data":
		return true
	}
	base := path.Base(name)
	return base == "testdata" || base == "node_modules"
}

// parse parses one file's text.
func parse(t *testing.T, text string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	require.NoError(t, err)
	return f
}
