package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"lessonkit.example/internal/longtest"
)

// What differs between systems are files for Unix, Linux and others, and the size of int: one
// target has both. Types are checked without compiling; of other modules only what they declare.
func TestTypesOnWindowsWith32Bits(t *testing.T) {
	longtest.Only(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	all, err := packages.Load(&packages.Config{
		Dir:   root,
		Tests: true,
		Env:   append(os.Environ(), "GOOS=windows", "GOARCH=386", "CGO_ENABLED=0"),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesSizes,
		ParseFile: func(files *token.FileSet, name string, source []byte) (*ast.File, error) {
			file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, root+string(filepath.Separator)) {
				for _, d := range file.Decls {
					if f, ok := d.(*ast.FuncDecl); ok {
						f.Body = nil
					}
				}
			}
			return file, err
		},
	}, "./...")
	require.NoError(t, err)
	for _, p := range all {
		if strings.HasSuffix(p.ID, ".test") {
			continue // generated
		}
		require.Empty(t, p.Errors, p.ID)
	}
}
