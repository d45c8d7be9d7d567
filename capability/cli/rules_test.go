package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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

func TestBaseline(t *testing.T) {
	t.Parallel()
	dir := riskyProject(t, "fail-on = \"note\"\nbaseline = \"known.json\"\n")
	code, _, _ := run("check", dir)
	require.Equal(t, cli.ExitFindings, code, "there is no baseline yet")
	for range 2 { // a new file, and an existing one
		code, _, errs := run("check", "-update-baseline", dir)
		require.Equal(t, cli.ExitClean, code, errs)
		require.Contains(t, errs, "2 findings written")
	}
	code, out, _ := run("check", dir)
	require.Equal(t, cli.ExitClean, code)
	require.Contains(t, out, "nothing found")
	// The file around a finding may change.
	file := filepath.Join(dir, "src-tauri/capabilities/main.json")
	require.NoError(
		t,
		os.WriteFile(file, []byte(strings.Replace(risky, "{\n", "{\n\n  \"description\": \"x\",\n", 1)), 0o644),
	)
	code, out, _ = run("check", dir)
	require.Equal(t, cli.ExitClean, code, out)
	// What is new is reported.
	require.NoError(
		t,
		os.WriteFile(file, []byte(strings.Replace(risky, `"sql:`, `"process:default", "sql:`, 1)), 0o644),
	)
	code, out, _ = run("check", dir)
	require.Equal(t, cli.ExitFindings, code)
	require.Contains(t, out, "process:default")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "known.json"), []byte("{"), 0o644))
	code, _, errs := run("check", dir)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "is not a baseline")
	require.Contains(t, errs, "check -update-baseline writes it anew")
	code, _, errs = run("check", "-update-baseline", dir)
	require.Equal(t, cli.ExitClean, code, errs)
	code, out, errs = run("check", dir)
	require.Equal(t, cli.ExitClean, code, out+errs)
}

// A baseline outside the folder of the rules, which could not be read, is not written.
func TestBaselineOutsideTheRules(t *testing.T) {
	t.Parallel()
	dir := riskyProject(t, "baseline = \"../known.json\"\n")
	code, _, errs := run("check", "-update-baseline", dir)
	require.Equal(t, cli.ExitUsage, code, errs)
	require.Contains(t, errs, "leads out of")
	require.NoFileExists(t, filepath.Join(filepath.Dir(dir), "known.json"))
}

// Also among more findings of one rule than are listed, a new one is reported, wherever it comes
// from: a rule of lint, a reference, or the configuration.
func TestBaselineSeesWhatIsNotListed(t *testing.T) {
	t.Parallel()
	const many = 210
	for name, texts := range map[string]func(last string) (config, capabilities string){
		"unknown-key": func(last string) (string, string) {
			return "{}", `"permissions": ["core:default"], "` + last + `": 1`
		},
		"unknown-permission": func(last string) (string, string) {
			return "{}", `"permissions": ["core:window:allow-` + last + `"]`
		},
		"unknown-capability": func(last string) (string, string) { return last, `"permissions": ["core:default"]` },
	} {
		dir := riskyProject(t, "fail-on = \"note\"\nbaseline = \"known.json\"\n")
		write := func(last string) {
			var listed, capabilities []string
			for i := range many {
				key := fmt.Sprint("zz", i)
				if i == many-1 {
					key = last
				}
				config, content := texts(key)
				listed = append(listed, fmt.Sprintf("%q", config))
				capabilities = append(capabilities, fmt.Sprintf(`{"identifier": "c%03d", "windows": ["main"], %s}`, i,
					content))
			}
			config := "{}"
			if name == "unknown-capability" {
				config = `{"app": {"security": {"capabilities": [` + strings.Join(listed, ", ") + `]}}}`
			}
			require.NoError(t, writeFile(filepath.Join(dir, "src-tauri/capabilities/main.json"),
				`{"capabilities": [`+strings.Join(capabilities, ",\n")+`]}`))
			require.NoError(t, writeFile(filepath.Join(dir, "src-tauri/tauri.conf.json"), config))
		}
		write("old")
		code, _, errs := run("check", "-update-baseline", dir)
		require.Equal(t, cli.ExitClean, code, errs)
		code, out, _ := run("check", dir)
		require.Equal(t, cli.ExitClean, code, "%s: %s", name, out)
		write("new")
		code, out, _ = run("check", dir)
		require.Equal(t, cli.ExitFindings, code, name)
		require.Contains(t, out, "There are 10 more findings of this rule than the 200 that are listed")
		require.Contains(t, out, "["+name+"]")
	}
}

// A message names equal values once and only the first of many, but none of them hides a new one.
func TestBaselineReportsWhatJoinsAFinding(t *testing.T) {
	t.Parallel()
	scoped := func(identifiers ...string) string {
		var entries []string
		for _, identifier := range identifiers {
			entries = append(entries, `{"identifier": "`+identifier+`", "allow": [{"path": "$HOME/**"}]}`)
		}
		return strings.Join(entries, ", ")
	}
	many := func(n int) string {
		var entries []string
		for i := range n {
			entries = append(entries, fmt.Sprintf(`"sql:allow-%d"`, i))
		}
		return strings.Join(entries, ", ")
	}
	for name, c := range map[string]struct{ before, after, rule string }{
		"equal values": {scoped("fs:allow-read-file"), scoped("fs:allow-read-file", "fs:allow-remove"),
			"scope-all-files"},
		"more than are named":     {many(9) + `, "sql:old"`, many(9) + `, "sql:new"`, "any-window-dangerous"},
		"more than are collected": {many(51) + `, "sql:old"`, many(51) + `, "sql:new"`, "any-window-dangerous"},
	} {
		const capability = `{"identifier": "main", "windows": ["*"], "permissions": [%s]}`
		dir := riskyProject(t, "fail-on = \"note\"\nbaseline = \"known.json\"\n")
		file := filepath.Join(dir, "src-tauri/capabilities/main.json")
		check := []string{"check", "-rule", "unknown-permission=off", dir}
		require.NoError(t, writeFile(file, fmt.Sprintf(capability, c.before)))
		code, _, errs := run(append(check, "-update-baseline")...)
		require.Equal(t, cli.ExitClean, code, errs)
		code, out, _ := run(check...)
		require.Equal(t, cli.ExitClean, code, "%s: %s", name, out)
		require.NoError(t, writeFile(file, fmt.Sprintf(capability, c.after)))
		code, out, _ = run(check...)
		require.Equal(t, cli.ExitFindings, code, name)
		require.Contains(t, out, c.rule, name)
	}
}

// twoApplications share the rules in the folder above them.
func twoApplications(t *testing.T, rules string) string {
	t.Helper()
	return project(t, map[string]string{
		"a/tauri.conf.json": "{}", "a/capabilities/main.json": risky,
		"b/tauri.conf.json": "{}", "b/capabilities/main.json": risky, "capability.toml": rules})
}

func TestApplicationsShareABaseline(t *testing.T) {
	t.Parallel()
	dir := twoApplications(t, "fail-on = \"note\"\nbaseline = \"known.json\"\n")
	apps := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	code, _, errs := run(append([]string{"check", "-update-baseline"}, apps...)...)
	require.Equal(t, cli.ExitClean, code, errs)
	require.Contains(t, errs, "4 findings written")
	code, out, _ := run(append([]string{"check"}, apps...)...)
	require.Equal(t, cli.ExitClean, code, out)
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
	code, _, errs = run("check", "-update-baseline", riskyProject(t, ""))
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "no rules name a baseline")
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
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Version, InformationURI string
					Rules                   []struct{ HelpURI string }
				}
			}
			Results []struct {
				PartialFingerprints map[string]string
				Locations           []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &log))
	driver := log.Runs[0].Tool.Driver
	require.NotEmpty(t, driver.Version)
	require.Contains(t, driver.Rules[0].HelpURI, driver.InformationURI+"#")
	require.Len(t, log.Runs[0].Results, 2)
	for _, r := range log.Runs[0].Results {
		require.Equal(t, "src-tauri/capabilities/main.json", r.Locations[0].PhysicalLocation.ArtifactLocation.URI)
		require.Len(t, r.PartialFingerprints["capabilityFinding/v1"], 32)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, out, _ := run("version")
	require.Equal(t, cli.ExitClean, code)
	require.Regexp(t, `^capability \S+\n$`, out)
}
