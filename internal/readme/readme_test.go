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
)

const root = "../.."

// blocks returns the README's code blocks of a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	require.NotEmpty(t, found)
	return found
}

func TestProgramsCompile(t *testing.T) {
	t.Parallel()
	var files []string
	for i, program := range blocks(t, "go") {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("main%d.go", i))
		require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
		files = append(files, file)
	}
	for _, file := range files {
		cmd := exec.CommandContext(t.Context(), "go", "vet", file)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		formatted, err := exec.CommandContext(t.Context(), "gofmt", "-l", file).Output()
		require.NoError(t, err)
		require.Empty(t, string(formatted), "gofmt")
	}
}

func TestEmbeddedExampleIsShownAsItIs(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(filepath.Join(root, "examples/embedded/main.go"))
	require.NoError(t, err)
	require.Contains(t, blocks(t, "go"), string(program))
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
			if command == "" || elsewhere[command] != "" {
				continue
			}
			run, known := commands[command]
			require.True(t, known, "nothing runs %q", command)
			run(t)
		}
	}
}

// commands are run here.
var commands = map[string]func(t *testing.T){
	"cp .env.example .env": func(t *testing.T) {
		environment, err := server.Environment(nil, filepath.Join(root, ".env.example"))
		require.NoError(t, err)
		_, err = server.ParseConfig(environment)
		require.NoError(t, err)
	},
}

const requireHere = "go mod edit -require=lessonkit.example@v0.0.0 -replace=lessonkit.example=../lessonkit"

// A new module beside the checkout imports a package as the README describes.
func TestUseFromAnotherModule(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(checkout, filepath.Join(dir, "lessonkit")))
	app := filepath.Join(dir, "app")
	require.NoError(t, os.Mkdir(app, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(app, "main.go"), []byte(blocks(t, "go")[1]), 0o600))
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

var program = regexp.MustCompile("(?m)^. `go run (./examples/[a-z-]+)`")

// Every program is in the README's table and prints its usage.
func TestProgramsExplainThemselves(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	var named []string
	for _, m := range program.FindAllStringSubmatch(string(text), -1) {
		named = append(named, m[1])
		cmd := exec.CommandContext(t.Context(), "go", "run", m[1], "-h")
		cmd.Dir = root
		out, _ := cmd.CombinedOutput() // programs differ in the exit code of -h
		require.Regexp(t, `(?i)usage`, string(out), m[1])
	}
	mains, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.go"))
	require.NoError(t, err)
	for _, main := range mains {
		require.Contains(t, named, "./examples/"+filepath.Base(filepath.Dir(main)))
	}
}
