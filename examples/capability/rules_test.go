package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/calls"
	"lessonkit.example/capability/cli"
	"lessonkit.example/capability/lint"
)

var update = flag.Bool("update", false, "write RULES.md")

// RULES.md lists every rule, and the README shows a finding of each of calls; -update writes the
// list.
func TestRulesAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	unfolded := strings.ReplaceAll(string(readme), "\n      ", " ")
	findings := findingsOfCalls(t)
	var b strings.Builder
	b.WriteString("# Rules of capability\n\nAn error means that the build refuses the files, or that a call fails. " +
		"`-rule CODE=LEVEL` or `capability.toml` sets another level.\n\n| rule | level | |\n|---|---|---|\n")
	for _, r := range slices.Concat(lint.Rules(), calls.Rules()) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Code, r.Severity, r.Summary)
		require.Contains(t, unfolded, findings[string(r.Code)]+"\n")
	}
	require.Len(t, findings, len(calls.Rules()))
	if *update {
		require.NoError(t, os.WriteFile("RULES.md", []byte(b.String()), 0o644))
	}
	text, err := os.ReadFile("RULES.md")
	require.NoError(t, err)
	require.Equal(t, b.String(), string(text))
}

// findingsOfCalls returns a finding of each rule of calls.
func findingsOfCalls(t *testing.T) map[string]string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("findings name files otherwise")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"src/main.ts": "import { invoke } from '@tauri-apps/api/core'\n\n" +
			"invoke('plugin:fs|write_text_file')\ninvoke('gret')\ninvoke(name)\ninvoke('greet')",
		"src-tauri/tauri.conf.json": "{}",
		"src-tauri/capabilities/main.json": "{\n  \"identifier\": \"main\",\n  \"windows\": [\"main\"],\n" +
			"  \"permissions\": [\"core:event:default\", \"dialog:default\"]\n}",
		"src-tauri/src/main.rs": "#[tauri::command]\nfn greet() {}\n\n#[tauri::command]\nfn leave() {}\n" +
			"generate_handler![greet, leave]",
	} {
		write(t, dir, name, text)
	}
	var out, errs bytes.Buffer
	code := cli.Run([]string{"calls", dir}, cli.Env{Stdout: &out, Stderr: &errs})
	require.Equal(t, cli.ExitFindings, code, errs.String())
	findings := make(map[string]string)
	for _, match := range regexp.MustCompile(`(?m)^(.* \[([a-z-]+)\])$`).FindAllStringSubmatch(out.String(), -1) {
		findings[match[2]] = strings.ReplaceAll(match[1], dir+"/", "")
	}
	return findings
}
