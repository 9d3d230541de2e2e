package archtest_test

import (
	"path"
	"testing"
)

// TestPackageComments asks for exactly one package comment in each package with code, in doc.go (in any file of a program).
func TestPackageComments(t *testing.T) {
	t.Parallel()
	where := map[string][]string{} // package → files with a package comment
	program := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.isTest() {
			if f.syntax.Doc != nil {
				t.Errorf("%s: a package comment belongs into doc.go", f.path)
			}
			continue
		}
		program[f.pkg] = f.syntax.Name.Name == "main"
		files := where[f.pkg] // kept even when empty: the package has code
		if f.syntax.Doc != nil {
			files = append(files, f.path)
		}
		where[f.pkg] = files
	}
	for pkg, files := range where {
		switch {
		case len(files) == 0:
			t.Errorf("%s: no package comment; write doc.go: what it does, its invariants, what it must not import", pkg)
		case len(files) > 1:
			t.Errorf("%s: package comments in %v; keep one, in doc.go", pkg, files)
		case !program[pkg] && path.Base(files[0]) != "doc.go":
			t.Errorf("%s: the package comment belongs into doc.go", files[0])
		}
	}
}
