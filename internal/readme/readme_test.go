// Package readme tests the README: its programs compile, and its commands work.
package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/internal/longtest"
)

const root = "../.."

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	return string(text)
}

func blocks(t *testing.T, language string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(readme(t), -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	require.NotEmpty(t, found)
	return found
}

// preamble declares what the README's programs are given.
const preamble = `package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/asr"
	"lessonkit.example/asr/local"
	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/miniapp"
	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/feedback/summary"
	"lessonkit.example/imagegen"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
)

var (
	pool                         *pgxpool.Pool
	db                           *sql.DB
	store                        auth.Store
	page                         http.Handler
	id, secret, address, key     string
	outbox                       sqlstore.Outbox
	recordings                   feedback.AudioStore
	transcriber                  feedback.Transcriber
	authenticate                 func(context.Context, http.Header) (uuid.UUID, error)
	_                            = os.DirFS
)

func main() {}
`

// programs returns a program that has those of the README as functions.
func programs(t *testing.T) string {
	t.Helper()
	var source strings.Builder
	source.WriteString(preamble)
	for i, program := range blocks(t, "go") {
		require.LessOrEqual(t, strings.Count(program, "\n"), 15, program)
		fmt.Fprintf(&source, "\nfunc program%d(ctx context.Context) error {\n%s", i, program)
		lines := strings.Split(strings.TrimSpace(program), "\n")
		if !strings.HasPrefix(lines[len(lines)-1], "return") {
			source.WriteString("return nil\n")
		}
		source.WriteString("}\n")
	}
	return source.String()
}

func TestProgramsCompile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(programs(t)), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "vet", file)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// The documentation of a package begins with its program of the README, which compiles.
func TestDocumentationHasThePrograms(t *testing.T) {
	t.Parallel()
	programs := regexp.MustCompile("(?s)\n\\*\\*\\[\\w+]\\((\\w+/doc\\.go)\\)\\*\\*.*?```go\n(.*?)```").
		FindAllStringSubmatch(readme(t), -1)
	require.Len(t, programs, 6)
	for _, m := range programs {
		text, err := os.ReadFile(filepath.Join(root, m[1]))
		require.NoError(t, err)
		at := strings.Index(string(text), "//\t"+strings.ReplaceAll(strings.TrimSpace(m[2]), "\n", "\n//\t")+"\n")
		require.GreaterOrEqual(t, at, 0, "the program of the README in %s", m[1])
		require.Less(t, strings.Count(string(text)[:at], "\n"), 10, "lines before the program in %s", m[1])
	}
}

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, len(strings.Fields(readme(t))), 1300)
}

// Every command of the README is run here or by the test named in elsewhere.
func TestCommandsAreRun(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"sh examples/demo.sh":                       "internal/e2e: TestDemo…, and .ci/run",
		"go test ./...":                             "this test is part of it",
		"go run ./examples/feedback-server":         "internal/e2e starts it in every test",
		requireHere:                                 "TestUseFromAnotherModule",
		"go mod tidy":                               "TestUseFromAnotherModule",
		"go run ./examples/feedback-server migrate": "internal/e2e: newService",
	}
	for _, block := range blocks(t, "sh") {
		if strings.HasPrefix(block, "api=") {
			continue // TestServiceByHand
		}
		for line := range strings.Lines(block) {
			command, _, _ := strings.Cut(line, "#")
			command = strings.TrimSpace(command)
			if command == "cp .env.example .env" {
				environment, _, err := server.Environment(nil, filepath.Join(root, ".env.example"))
				require.NoError(t, err)
				_, err = server.ParseConfig(environment)
				require.NoError(t, err)
				continue
			}
			require.True(t, command == "" || elsewhere[command] != "", "nothing runs %q", command)
		}
	}
}

const requireHere = "go mod edit -require=" + path + "@v0.0.0 -replace=" + path + "=../lessonkit"

// The service in one file is a program of another module beside the checkout, as the README
// describes.
func TestUseFromAnotherModule(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(checkout, filepath.Join(dir, "lessonkit")))
	app := filepath.Join(dir, "app")
	require.NoError(t, os.Mkdir(app, 0o700))
	program, err := os.ReadFile(filepath.Join(root, "examples/embedded/main.go"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(app, "main.go"), program, 0o600))
	for _, command := range []string{
		"go mod init app.example",
		requireHere,
		"go mod tidy",
		"go build -o app .",
	} {
		args := strings.Fields(command)
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = app
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", command, out)
	}
}

// Every program is in the README and has a README of its own.
func TestEveryProgramIsNamed(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.go"))
	require.NoError(t, err)
	require.NotEmpty(t, mains)
	for _, main := range mains {
		name := filepath.Base(filepath.Dir(main))
		require.Contains(t, readme(t), "](examples/"+name+"/README.md)")
		require.FileExists(t, filepath.Join(filepath.Dir(main), "README.md"))
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readme(t), -1) {
		require.FileExists(t, filepath.Join(root, m[1]))
	}
}
