// Package archtest tests the architecture: which package may import which, what the root packages
// may export, and where files may be.
package archtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const module = "lessonkit.example/"

// roots are the independent packages, with the modules that each may compile beyond the standard
// library.
var roots = map[string][]string{
	"feedback": {"github.com/google/uuid", "golang.org/x/sync", "github.com/mozillazg/go-pinyin",
		"github.com/antzucaro/matchr"},
	"auth":     {"github.com/google/uuid", "golang.org/x/sync"},
	"asr":      {},
	"jobqueue": {},
	"imagegen": {"github.com/segmentio/asm", "golang.org/x/image", "golang.org/x/sys"},
	"capability": {
		"github.com/pelletier/go-toml/v2",
		"github.com/dunglas/go-urlpattern", "github.com/nlnwa/whatwg-url", "github.com/bits-and-blooms/bitset",
		"golang.org/x/exp", "golang.org/x/net", "golang.org/x/text",
	},
}

// pkg is a package as `go list` prints it.
type pkg struct {
	ImportPath, Dir, Name           string
	Standard                        bool
	GoFiles, Imports                []string
	TestImports, XTestImports, Deps []string
	Module                          *struct{ Path string }
}

// listing is the module's packages and, by path, everything they compile.
type listing struct {
	ours []pkg
	all  map[string]pkg
}

var listed = sync.OnceValues(func() (l listing, err error) {
	cmd := exec.Command("go", "list", "-deps",
		"-json=ImportPath,Dir,Name,Standard,GoFiles,Imports,TestImports,XTestImports,Deps,Module", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return l, err
	}
	l.all = map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			return l, err
		}
		l.all[p.ImportPath] = p
		if strings.HasPrefix(p.ImportPath, module) {
			l.ours = append(l.ours, p)
		}
	}
	return l, nil
})

func list(t *testing.T) (ours []pkg, all map[string]pkg) {
	t.Helper()
	l, err := listed()
	require.NoError(t, err)
	require.NotEmpty(t, l.ours)
	return l.ours, l.all
}

// top returns the first folder of one of our packages.
func top(importPath string) string {
	folder, _, _ := strings.Cut(strings.TrimPrefix(importPath, module), "/")
	return folder
}

func own(importPath string) bool { return strings.HasPrefix(importPath, module) }

func TestRootsDoNotImportEachOther(t *testing.T) {
	t.Parallel()
	ours, _ := list(t)
	for _, p := range ours {
		home := top(p.ImportPath)
		if _, ok := roots[home]; !ok {
			continue
		}
		for _, imported := range slices.Concat(p.Deps, p.TestImports, p.XTestImports) {
			if _, foreign := roots[top(imported)]; own(imported) && foreign && top(imported) != home {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

func TestRootsCompileFewModules(t *testing.T) {
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

// checks are the packages below internal that test the whole, or measure it.
var checks = []string{"archtest", "bench", "e2e", "readme"}

// foundation are the packages below internal that the root packages are built on.
var foundation = []string{
	"db", "freeport", "httpapi", "logtest", "longtest", "oauthtest", "pgtest", "retryafter", "s3test", "tempdir",
	"testclock",
}

// below returns the folder after the first: "e2e" of internal/e2e.
func below(importPath string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(importPath, module), "/")
	folder, _, _ := strings.Cut(rest, "/")
	return folder
}

func TestInternalIsTheFoundationAndTheChecks(t *testing.T) {
	t.Parallel()
	ours, _ := list(t)
	for _, p := range ours {
		if top(p.ImportPath) != "internal" || slices.Contains(checks, below(p.ImportPath)) {
			continue
		}
		if !slices.Contains(foundation, below(p.ImportPath)) {
			t.Errorf("%s is neither part of the foundation nor a check", p.ImportPath)
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if own(imported) && top(imported) != "internal" {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

func TestExamplesAreImportedByExamplesAndChecks(t *testing.T) {
	t.Parallel()
	ours, _ := list(t)
	for _, p := range ours {
		if top(p.ImportPath) == "examples" || slices.Contains(checks, below(p.ImportPath)) {
			continue
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if own(imported) && top(imported) == "examples" {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

// A stranger can write the same programs: they stand on what any importer has.
func TestExamplesStandOnPublicPackages(t *testing.T) {
	t.Parallel()
	ours, _ := list(t)
	for _, p := range ours {
		if top(p.ImportPath) != "examples" {
			continue
		}
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, module+"internal/") {
				t.Errorf("%s imports %s outside of its tests", p.ImportPath, imported)
			}
		}
	}
}

func TestTestPackagesAreImportedByTests(t *testing.T) {
	t.Parallel()
	ours, _ := list(t)
	for _, p := range ours {
		for _, imported := range p.Imports {
			if own(imported) && strings.HasSuffix(imported, "test") && !strings.HasSuffix(p.ImportPath, "test") {
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

// TestExamplesAreShownWhole: the package site shows of an example what its own file declares. One
// that needs more is shown as a body alone, which nobody can run.
func TestExamplesAreShownWhole(t *testing.T) {
	t.Parallel()
	ours, _ := list(t)
	n := 0
	for _, p := range ours {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
		require.NoError(t, err)
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, e := range doc.Examples(file) {
				n++
				require.NotNil(t, e.Play, "%s: Example%s calls what another file declares: move that into its file",
					name, e.Name)
			}
		}
	}
	require.Greater(t, n, 40)
}

func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"feedback", "auth", "asr", "jobqueue", "imagegen", "capability",
		"examples", "internal", "go.mod", "go.sum", "LICENSE", "README.md",
	}
	out, err := exec.Command("git", "-C", "../..", "ls-files").Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	for _, path := range strings.Fields(string(out)) {
		first, _, _ := strings.Cut(path, "/")
		if !strings.HasPrefix(first, ".") && !slices.Contains(allowed, first) {
			t.Errorf("%s is at the top level", first)
		}
	}
}

func TestBenchmarkPeersAreNotDependencies(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for _, peer := range []string{"riverqueue", "pocketbase", "openai-go", "santhosh-tekuri"} {
		require.NotContains(t, string(mod), peer)
	}
}

// Comments wrap at 100 columns, code stays below 120; a tab counts for four.
func TestLinesAreNotTooWide(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.go").Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	for _, path := range strings.Fields(string(out)) {
		text, err := os.ReadFile(filepath.Join("../..", path))
		require.NoError(t, err)
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			comment := strings.HasPrefix(strings.TrimSpace(line), "// ") // not a program in one
			line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
			if comment && utf8.RuneCountInString(line) > 100 && strings.Contains(strings.TrimSpace(line)[3:], " ") {
				t.Errorf("%s:%d: a comment wider than 100 columns", path, number)
			}
			if !strings.HasPrefix(line, "//") && utf8.RuneCountInString(line) >= 120 {
				t.Errorf("%s:%d: wider than 119 columns", path, number)
			}
		}
	}
}

// A database of an older state is refused by the number of its migration, so a file that changes
// needs a new number, until there is a release.
func TestChangedMigrationsHaveNewNumbers(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"auth/sqlstore/migrations/postgres/00100_auth.sql":         "6605cf629e72a565",
		"auth/sqlstore/migrations/sqlite/00100_auth.sql":           "50ca14f395647026",
		"feedback/sqlstore/migrations/postgres/00102_feedback.sql": "d2b2ac659a4f24f9",
		"feedback/sqlstore/migrations/sqlite/00102_feedback.sql":   "17e4f770101c60c6",
		"jobqueue/pgqueue/migrations/00101_jobqueue.sql":           "75a1d245a3e2c950",
		"jobqueue/sqlitequeue/migrations/00100_jobqueue.sql":       "16c43961610652fe",
	} {
		text, err := os.ReadFile("../../" + file)
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprintf("%x", sha256.Sum256(text))[:16], "give %s the next number", file)
	}
}
