package readme

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"lessonkit.example/internal/longtest"
)

const path = "lessonkit.example"

// consumer is a module that has this one, as of the last commit, from a proxy.
type consumer struct {
	dir, version string
	env          []string
}

func (c *consumer) run(t *testing.T, env []string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(c.env, env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", command, out)
	return strings.TrimSpace(string(out))
}

func (c *consumer) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(c.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// published returns a module outside of the checkout that requires the last commit, which a proxy
// serves. Its version has the time and the hash of the commit, so the cache of modules has no
// other.
func published(t *testing.T) *consumer {
	t.Helper()
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	c := &consumer{dir: checkout, env: os.Environ()}
	stamp := c.run(t, []string{"TZ=UTC"}, "git", "log", "-1", "--abbrev=12", "--date=format-local:%Y%m%d%H%M%S",
		"--format=%cd-%h")
	c.version = "v0.0.0-" + stamp
	escaped, err := module.EscapePath(path) // its upper-case letters
	require.NoError(t, err)
	proxy := t.TempDir()
	var archive bytes.Buffer
	version := module.Version{Path: path, Version: c.version}
	require.NoError(t, zip.CreateFromVCS(&archive, version, checkout, "HEAD", ""))
	cache := c.run(t, nil, "go", "env", "GOMODCACHE")
	t.Cleanup(func() {
		_ = os.RemoveAll(filepath.Join(cache, escaped+"@"+c.version))
		_ = os.RemoveAll(filepath.Join(cache, "cache/download", escaped))
	})
	sums := c.run(t, nil, "git", "show", "HEAD:go.sum")
	c.env = append(c.env, "GOFLAGS=-mod=mod -modcacherw", "GOWORK=off", "GONOSUMDB="+path,
		"GOPROXY=file://"+filepath.ToSlash(proxy)+","+c.run(t, nil, "go", "env", "GOPROXY"))

	c.dir = filepath.Join(proxy, escaped, "@v")
	c.write(t, "list", c.version+"\n")
	c.write(t, c.version+".zip", archive.String())
	c.write(t, c.version+".info", fmt.Sprintf(`{"Version":%q}`, c.version))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	c.write(t, c.version+".mod", string(mod))
	c.dir = t.TempDir()
	c.write(t, "go.mod", "module consumer.example\n\ngo 1.26\n\nrequire "+path+" "+c.version+"\n")
	c.write(t, "go.sum", sums+"\n")
	return c
}

// Whoever requires the module gets all of it: each public package builds, and the programs of the
// README and of examples run.
func TestRelease(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := published(t)
	var imports strings.Builder
	imports.WriteString("package all\n\nimport (\n")
	list := &consumer{dir: root, env: os.Environ()}
	packages := strings.Fields(list.run(t, nil, "go", "list", "./..."))
	for _, p := range packages {
		if !strings.Contains(p, "/internal/") && !strings.Contains(p, "/examples/") {
			fmt.Fprintf(&imports, "\t_ %q\n", p)
		}
	}
	c.write(t, "all/all.go", imports.String()+")\n")
	c.write(t, "readme/main.go", programs(t))
	c.write(t, "driver/main.go", withoutDriver)
	c.run(t, nil, "go", "mod", "tidy")
	c.run(t, nil, "go", "vet", "./...")
	require.Contains(t, c.run(t, nil, "go", "run", "./driver"), `_ "modernc.org/sqlite"`)

	bin := t.TempDir()
	c.run(t, []string{"GOBIN=" + bin}, "go", "install", path+"/examples/...@"+c.version)
	for _, name := range []string{"feedback-server", "capability"} {
		require.Contains(t, c.run(t, nil, filepath.Join(bin, name), "version"), c.version)
	}
	for _, name := range []string{"embedded", "imagegen", "image-gateway", "speech-server"} {
		out, _ := exec.CommandContext(t.Context(), filepath.Join(bin, name), "-h").CombinedOutput()
		require.Contains(t, strings.ToLower(string(out)), "usage", "%s -h", name)
	}
}

// withoutDriver opens a database without its driver: the error says what to import.
const withoutDriver = `package main

import (
	"context"
	"fmt"

	"lessonkit.example/auth/sqlstore"
)

func main() {
	_, err := sqlstore.Open(context.Background(), "sqlite:users.db")
	fmt.Println(err)
}
`
