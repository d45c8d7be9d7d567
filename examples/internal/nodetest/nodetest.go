// Package nodetest runs programs of Node.js in Go tests, so that the servers are tested with the
// clients that people use. The npm packages are pinned by a committed package-lock.json.
//
// Without Node.js and npm, or when the packages cannot be fetched, tests are skipped, or fail if
// REQUIRE_NPM=1 is set.
package nodetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const timeout = 5 * time.Minute // of fetching packages, and of a program

// Run runs node with args in a temporary copy of the folder dir, and returns its standard output.
// The folder has a package.json, a package-lock.json and the scripts that args name; its packages
// are installed there. env contains further environment variables, as NAME=VALUE. A program that
// fails fails the test, with its output.
func Run(t testing.TB, dir string, env []string, args ...string) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			skip(t, program+" is not installed")
		}
	}
	modules, err := install(t.Context(), dir)
	if err != nil {
		skip(t, "npm packages could not be installed: "+err.Error())
	}
	work := t.TempDir()
	if err := errors.Join(os.CopyFS(work, os.DirFS(dir)),
		os.Symlink(modules, filepath.Join(work, "node_modules"))); err != nil {
		t.Fatalf("nodetest: %v", err)
	}
	stdout, err := run(t.Context(), work, env, "node", args...)
	if err != nil {
		t.Fatalf("nodetest: node %s: %v\n%s", strings.Join(args, " "), err, stdout)
	}
	return stdout
}

// RequireNode skips the test if Node.js is missing or older than the packages of the test need:
// Debian 12 has 18.
func RequireNode(t testing.TB, major int) {
	t.Helper()
	version, err := exec.Command("node", "--version").Output()
	if err != nil {
		skip(t, "node is not installed")
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	if n, err := strconv.Atoi(text); err != nil || n < major {
		t.Skipf("Node.js is %s, and must be %d or newer", strings.TrimSpace(string(version)), major)
	}
}

func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("REQUIRE_NPM") == "1" {
		t.Fatal("nodetest: " + reason)
	}
	t.Skip("nodetest: " + reason)
}

// install returns the folder with the packages that dir pins. It installs them once per lock file,
// in the user's cache.
func install(ctx context.Context, dir string) (modules string, err error) {
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "lessonkit", "npm")
	digest := sha256.Sum256(lock)
	installed := filepath.Join(cache, hex.EncodeToString(digest[:8]))
	modules = filepath.Join(installed, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(work, name), data, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	if _, err := run(ctx, work, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return "", err
	}
	err = os.Rename(work, installed)
	if _, exists := os.Stat(modules); exists == nil {
		err = nil // another process may have been faster
	}
	return modules, err
}

// run runs a program in dir. The error contains what it wrote to standard error.
func run(ctx context.Context, dir string, env []string, name string, args ...string) (stdout string, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), 5*time.Second
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%w\n%s", err, problems.String())
	}
	return out.String(), err
}
