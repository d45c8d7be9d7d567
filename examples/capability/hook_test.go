package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	sound = `{"identifier": "main", "windows": ["main"], "permissions": ["core:default"]}`
	wrong = `{"identifier": "main", "windows": ["main"], "permissions": ["core:defalt"]}`
)

// built returns a folder with the program and PATH with it in front.
func built(t *testing.T) (path string) {
	t.Helper()
	for _, program := range []string{"git", "bash"} {
		if _, err := exec.LookPath(program); err != nil || runtime.GOOS == "windows" {
			t.Skip(program + " is not installed")
		}
	}
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "capability"), ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

// in runs a program in a folder and returns its output and whether it succeeded.
func in(dir string, env []string, program string, args ...string) (output string, ok bool) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t",
		"GIT_COMMITTER_EMAIL=t@example.com"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

// The hook checks what is committed: neither the working tree nor other files count.
func TestPreCommitHook(t *testing.T) {
	path := built(t)
	repo := t.TempDir()
	git := func(args ...string) (string, bool) { return in(repo, []string{path}, "git", args...) }
	out, ok := git("init", "-q", "-b", "main")
	require.True(t, ok, out)
	hook, err := os.ReadFile("pre-commit")
	require.NoError(t, err)
	write(t, repo, ".git/hooks/pre-commit", string(hook))
	require.NoError(t, os.Chmod(filepath.Join(repo, ".git/hooks/pre-commit"), 0o755))
	commit := func() (string, bool) { return git("commit", "-q", "-m", "x") }
	write(t, repo, "README.md", "x")
	git("add", ".")
	out, ok = commit()
	require.True(t, ok, out)
	write(t, repo, "src-tauri/tauri.conf.json", "{}")
	write(t, repo, "src-tauri/capabilities/main.json", wrong)
	git("add", ".")
	out, ok = commit()
	require.False(t, ok)
	require.Contains(t, out, `did you mean "core:default"?`)
	write(t, repo, "src-tauri/capabilities/main.json", sound)
	_, ok = commit()
	require.False(t, ok, "the correction is not in the index")
	git("add", ".")
	write(t, repo, "src-tauri/capabilities/main.json", wrong)
	out, ok = commit()
	require.True(t, ok, out)
}

// The last step of the action, as a runner calls it.
func TestAction(t *testing.T) {
	path := built(t)
	text, err := os.ReadFile("action.yml")
	require.NoError(t, err)
	var action struct {
		Inputs map[string]struct{ Description, Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Name, Shell, Run, Uses string
				Env                    map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &action))
	require.Equal(t, "composite", action.Runs.Using)
	step := action.Runs.Steps[len(action.Runs.Steps)-1]
	repo := t.TempDir()
	write(t, repo, "app/tauri.conf.json", "{}")
	check := func(inputs map[string]string) (string, bool) {
		env := []string{path}
		for name, value := range step.Env {
			input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
			require.Contains(t, action.Inputs, input)
			value = action.Inputs[input].Default
			if given, ok := inputs[input]; ok {
				value = given
			}
			env = append(env, name+"="+value)
		}
		require.Equal(t, "bash", step.Shell)
		return in(repo, env, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
	}
	write(t, repo, "app/capabilities/main.json", wrong)
	out, ok := check(map[string]string{"sarif": "found.sarif"})
	require.False(t, ok)
	require.Contains(t, out, "::error file=app/capabilities/main.json,line=1,")
	log, err := os.ReadFile(filepath.Join(repo, "found.sarif"))
	require.NoError(t, err)
	require.Contains(t, string(log), `"uri": "app/capabilities/main.json"`)
	write(t, repo, "app/capabilities/main.json", strings.Replace(sound, `"main"]`, `"*"]`, 1))
	out, ok = check(map[string]string{"path": "app", "fail-on": "note"})
	require.True(t, ok, out)
	write(t, repo, "app/capabilities/main.json", strings.Replace(sound, `]}`, `, "core:app:default"]}`, 1))
	out, ok = check(map[string]string{"path": "app", "fail-on": "note"})
	require.False(t, ok)
	require.Contains(t, out, "::notice ")
}
