package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dependencies returns the import paths of the packages of other modules that a file or package is
// built from, and the paths of those modules.
func dependencies(t *testing.T, name string) (packages, modules map[string]bool) {
	t.Helper()
	const format = "{{with .Module}}{{if not .Main}}{{.Path}} {{$.ImportPath}}{{end}}{{end}}"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, name)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	require.NoError(t, err, name)
	packages, modules = map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		module, path, found := strings.Cut(strings.TrimSpace(line), " ")
		if found {
			packages[path], modules[module] = true, true
		}
	}
	return packages, modules
}

var weightRow = regexp.MustCompile(`(?m)^\| (\w+) \| [^|]*\| (\d+) \| (\d+) \| ([\d.]+) \|$`)

// The table says what each of the README's programs links.
func TestWeightOfThePrograms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	rows := weightRow.FindAllStringSubmatch(string(text), -1)
	programs := blocks(t, "go")
	require.Len(t, rows, len(programs))
	for _, row := range rows {
		name := row[1]
		file := filepath.Join(t.TempDir(), name+".go")
		for _, program := range programs {
			if isProgramOf(string(text), name, program) {
				require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
			}
		}
		packages, modules := dependencies(t, file)
		binary := filepath.Join(t.TempDir(), name)
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", binary, file)
		build.Dir = root
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
		info, err := os.Stat(binary)
		require.NoError(t, err)
		megabytes := float64(info.Size()) / 1e6
		var stated [3]float64
		_, err = fmt.Sscan(row[2]+" "+row[3]+" "+row[4], &stated[0], &stated[1], &stated[2])
		require.NoError(t, err)
		measured := fmt.Sprintf("| %s | … | %d | %d | %.1f |", name, len(modules), len(packages), megabytes)
		t.Log(measured)
		assert.InDelta(t, stated[0], len(modules), 0, measured)
		assert.InDelta(t, stated[1], len(packages), stated[1]/10, measured)
		assert.InDelta(t, stated[2], megabytes, stated[2]/10, "%s, %s", measured, runtime.Version())
	}
}

var bucketWeight = regexp.MustCompile("`feedback/audios3`, compiles (\\d+) packages of (\\d+) modules")

func TestWeightOfABucket(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	stated := bucketWeight.FindStringSubmatch(string(text))
	require.NotNil(t, stated)
	packages, modules := dependencies(t, "./feedback/audios3")
	require.Equal(t, stated[1:], []string{strconv.Itoa(len(packages)), strconv.Itoa(len(modules))})
	_, modules = dependencies(t, "./examples/embedded")
	require.NotContains(t, modules, "github.com/minio/minio-go/v7")
}

// isProgramOf reports whether a program is the first one after the bold name of a package.
func isProgramOf(readme, name, program string) bool {
	_, after, _ := strings.Cut(readme, "**"+name+"**")
	_, after, _ = strings.Cut(after, "```go\n")
	return strings.HasPrefix(after, program)
}

// Whoever uses one engine does not link the other.
func TestEnginesAreLinkedByWhoImportsThem(t *testing.T) {
	t.Parallel()
	const postgres, sqlite = "github.com/jackc/pgx/v5", "modernc.org/sqlite"
	for name, foreign := range map[string][]string{
		"./jobqueue":             {postgres, sqlite},
		"./jobqueue/sqlitequeue": {postgres},
		"./jobqueue/pgqueue":     {sqlite},
		"./feedback/sqlstore":    {postgres, sqlite},
		"./auth/sqlstore":        {postgres, sqlite},
		"./examples/embedded":    {postgres},
	} {
		_, modules := dependencies(t, name)
		for _, module := range foreign {
			require.NotContains(t, modules, module, name)
		}
	}
}
