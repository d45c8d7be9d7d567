// Package archtest holds the project to its architecture: which package may
// know which other, and what may stand where.
package archtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "lessonkit.example/"

// roots are the packages that stand alone, with the modules each may compile
// beyond the standard library.
var roots = map[string][]string{
	"feedback":   {"github.com/google/uuid"},
	"auth":       {"github.com/google/uuid", "golang.org/x/sync"},
	"asr":        {},
	"jobqueue":   {},
	"imagegen":   {},
	"capability": {"github.com/dunglas/go-urlpattern", "github.com/pelletier/go-toml/v2", "github.com/nlnwa/whatwg-url", "github.com/bits-and-blooms/bitset", "golang.org/x/exp", "golang.org/x/net", "golang.org/x/text"},
}

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath, Dir, Name           string
	Standard                        bool
	GoFiles, Imports                []string
	TestImports, XTestImports, Deps []string
	Module                          *struct{ Path string }
}

// list returns the module's packages and, by path, everything they compile.
func list(t *testing.T) (ours []pkg, all map[string]pkg) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Name,Standard,GoFiles,Imports,TestImports,XTestImports,Deps,Module", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	all = map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p pkg
		require.NoError(t, d.Decode(&p))
		all[p.ImportPath] = p
		if strings.HasPrefix(p.ImportPath, module) {
			ours = append(ours, p)
		}
	}
	require.NotEmpty(t, ours)
	return ours, all
}

// top returns the first folder of one of our packages.
func top(importPath string) string {
	folder, _, _ := strings.Cut(strings.TrimPrefix(importPath, module), "/")
	return folder
}

func own(importPath string) bool { return strings.HasPrefix(importPath, module) }

func TestIndependentPackagesDoNotKnowEachOther(t *testing.T) {
	t.Parallel()
	ours, _ := list(t)
	for _, p := range ours {
		home := top(p.ImportPath)
		if _, ok := roots[home]; !ok {
			continue
		}
		for _, imported := range slices.Concat(p.Deps, p.TestImports, p.XTestImports) {
			if _, foreign := roots[top(imported)]; own(imported) && foreign && top(imported) != home {
				t.Errorf("%s knows %s", p.ImportPath, imported)
			}
		}
	}
}

func TestRootPackagesStayLight(t *testing.T) {
	t.Parallel()
	_, all := list(t)
	for root, allowed := range roots {
		p, ok := all[module+root]
		require.True(t, ok, "there is no package %s", root)
		for _, dep := range p.Deps {
			d := all[dep]
			switch {
			case d.Standard || d.Module == nil:
			case own(dep):
				if strings.HasPrefix(dep, module+"internal/") {
					t.Errorf("%s compiles %s", root, dep)
				}
			case !slices.Contains(allowed, d.Module.Path):
				t.Errorf("%s compiles %s", root, dep)
			}
		}
	}
}

func TestExamplesAndTestPackagesAreNotImported(t *testing.T) {
	t.Parallel()
	ours, _ := list(t)
	for _, p := range ours {
		for _, imported := range p.Imports {
			if !own(imported) {
				continue
			}
			if top(imported) == "examples" && top(p.ImportPath) != "examples" {
				t.Errorf("%s imports the example %s", p.ImportPath, imported)
			}
			if strings.HasSuffix(imported, "test") && !strings.HasSuffix(p.ImportPath, "test") {
				t.Errorf("%s imports %s outside of its tests", p.ImportPath, imported)
			}
		}
	}
}

func TestMainsAreThin(t *testing.T) {
	t.Parallel()
	ours, _ := list(t)
	for _, p := range ours {
		if p.Name != "main" || top(p.ImportPath) != "examples" {
			continue
		}
		lines := 0
		for _, f := range p.GoFiles {
			b, err := os.ReadFile(filepath.Join(p.Dir, f))
			require.NoError(t, err)
			lines += bytes.Count(b, []byte("\n"))
		}
		require.LessOrEqual(t, lines, 150, p.ImportPath)
	}
}

func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := []string{"feedback", "auth", "asr", "jobqueue", "imagegen", "capability", "examples", "internal", "go.mod", "go.sum", "README.md"}
	out, err := exec.Command("git", "-C", "../..", "ls-files").Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	for _, path := range strings.Fields(string(out)) {
		first, _, _ := strings.Cut(path, "/")
		if !strings.HasPrefix(first, ".") && !slices.Contains(allowed, first) {
			t.Errorf("%s stands at the top level", first)
		}
	}
}

func TestPeersAreNoDependencies(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for _, peer := range []string{"riverqueue", "pocketbase", "openai-go", "santhosh-tekuri"} {
		require.NotContains(t, string(mod), peer)
	}
}
