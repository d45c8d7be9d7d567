package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

// risky has a warning (any-window-dangerous) and a note (redundant-permission).
const risky = `{
  "identifier": "main",
  "windows": ["*"],
  "permissions": ["core:default", "core:window:default", "sql:default"]
}`

func runAt(now string, args ...string) (code int, stdout, stderr string) {
	day, err := time.Parse(time.DateOnly, now)
	if err != nil {
		panic(err)
	}
	var out, errs bytes.Buffer
	code = cli.Run(
		args,
		cli.Env{Stdout: &out, Stderr: &errs, Now: func() time.Time { return day.Add(23 * time.Hour) }},
	)
	return code, out.String(), errs.String()
}

func riskyProject(t *testing.T, rules string) string {
	t.Helper()
	return project(t, map[string]string{"src-tauri/tauri.conf.json": "{}",
		"src-tauri/capabilities/main.json": risky, "capability.toml": rules})
}

func TestFailOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rules string
		flags       []string
		code        int
	}{
		{"warnings pass", "", nil, cli.ExitClean},
		{"flag", "", []string{"-fail-on", "warning"}, cli.ExitFindings},
		{"flag note", `severity = {any-window-dangerous = "off"}`, []string{"-fail-on", "note"}, cli.ExitFindings},
		{"rules", `fail-on = "warning"`, nil, cli.ExitFindings},
		{"flag before rules", `fail-on = "warning"`, []string{"-fail-on", "error"}, cli.ExitClean},
		{"severity", `severity = {any-window-dangerous = "error"}`, nil, cli.ExitFindings},
		{"flag before severity", `severity = {any-window-dangerous = "error"}`,
			[]string{"-rule", "any-window-dangerous=note"}, cli.ExitClean},
		{"no rules", `fail-on = "note"`, []string{"-rules", "none"}, cli.ExitClean},
	} {
		dir := riskyProject(t, c.rules)
		code, out, errs := runAt("2026-06-01", append([]string{"check", dir}, c.flags...)...)
		require.Equal(t, c.code, code, "%s: %s%s", c.name, out, errs)
	}
}

func TestIgnores(t *testing.T) {
	t.Parallel()
	const accepted = `fail-on = "warning"
[[ignore]]
rule = "any-window-dangerous"
file = "src-tauri/capabilities/*.json"
text = "sql:default"
reason = "every window edits the same notes"
until = 2026-06-01
`
	dir := riskyProject(t, accepted)
	code, out, errs := runAt("2026-06-01", "check", dir)
	require.Equal(t, cli.ExitClean, code, errs)
	require.NotContains(t, out, "any-window-dangerous")
	require.Contains(t, out, "redundant-permission")
	require.Contains(t, errs, "1 findings are accepted")
	code, out, errs = runAt("2026-06-02", "check", dir)
	require.Equal(t, cli.ExitFindings, code, "the rule has expired")
	require.Contains(t, out, "any-window-dangerous")
	require.Contains(t, errs, "was valid until 2026-06-01")
	for _, other := range []string{strings.Replace(accepted, "*.json", "*.toml", 1),
		strings.Replace(accepted, "sql:default", "sql:allow", 1)} {
		code, _, errs = runAt("2026-06-01", "check", riskyProject(t, other))
		require.Equal(t, cli.ExitFindings, code)
		require.Contains(t, errs, "matches no finding; remove it")
	}
}

// twoApplications share the rules in the folder above them.
func twoApplications(t *testing.T, rules string) string {
	t.Helper()
	return project(t, map[string]string{
		"a/tauri.conf.json": "{}", "a/capabilities/main.json": risky,
		"b/tauri.conf.json": "{}", "b/capabilities/main.json": risky, "capability.toml": rules})
}

func TestIgnoreIsUsedByOneOfSeveralApplications(t *testing.T) {
	t.Parallel()
	dir := twoApplications(t, "[[ignore]]\nrule = \"any-window-dangerous\"\nfile = \"a/capabilities/main.json\"\n"+
		"reason = \"accepted\"\n")
	_, _, errs := run("check", filepath.Join(dir, "a"), filepath.Join(dir, "b"))
	require.Contains(t, errs, "1 findings are accepted")
	require.NotContains(t, errs, "matches no finding")
	_, _, errs = run("check", filepath.Join(dir, "b"))
	require.Contains(t, errs, "matches no finding")
	more := filepath.Join(dir, "a/capabilities/more.json")
	require.NoError(t, os.WriteFile(more, []byte(strings.Replace(sound, `"main"`, `"more"`, 1)), 0o600))
	_, _, errs = run("check", more)
	require.NotContains(t, errs, "matches no finding", "the other file of the application has it")
}

func TestMistakesInRules(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		"fail_on = \"note\"":                `line 1: there is no setting "fail_on"`,
		"fail-on = \"loud\"":                "write error, warning or note",
		"\nfail-on = ":                      "line 2",
		"severity = {nope = \"off\"}":       `there is no rule "nope"`,
		"severity = {syntax = \"loud\"}":    "write off, note, warning or error",
		"[[ignore]]\nrule = \"no-windows\"": "has no reason",
		"[[ignore]]\nrule = \"x\"":          `there is no rule "x"`,
		"[[ignore]]\nrule = \"no-windows\"\nreason = \"x\"\nfile = \"[\"": "not a pattern",
		"[[ignore]]\nrule = \"no-windows\"\nuntil = \"soon\"":             "line 3",
	} {
		code, _, errs := run("check", riskyProject(t, rules))
		require.Equal(t, cli.ExitUsage, code, rules)
		require.Contains(t, errs, want, rules)
		require.Contains(t, errs, "capability.toml")
	}
	code, _, errs := run("check", "-fail-on", "loud", riskyProject(t, ""))
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "write error, warning or note")
}

// SARIF and the annotations of GitHub name files as they are called in the repository.
func TestFormatsForCodeHosts(t *testing.T) {
	dir := riskyProject(t, "")
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	t.Chdir(filepath.Join(dir, "src-tauri", "capabilities"))
	code, out, _ := run("check", "-format", "github", "-fail-on", "warning", filepath.Join(dir, "src-tauri"))
	require.Equal(t, cli.ExitFindings, code)
	require.Contains(t, out, "::warning file=src-tauri/capabilities/main.json,line=4,col=58,endColumn=71,"+
		"title=any-window-dangerous::")
	require.Contains(t, out, "::notice file=src-tauri/capabilities/main.json,line=4,")
	code, out, _ = run("check", "-format", "sarif", "main.json")
	require.Equal(t, cli.ExitClean, code)
	require.Contains(t, out, `"uri": "src-tauri/capabilities/main.json"`)
	require.NotContains(t, out, `"uri": "main.json"`)
}
