package cli_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/cli"
)

// raw is text that stands in a configuration as it is, where JSON and TOML have the same.
type raw string

// pair is a member of an object; objects are lists of them, so that a key can be written twice.
type pair struct {
	key   string
	value any
}

type mutation struct{ *rand.Rand }

func (m mutation) pick(choices ...any) any { return choices[m.IntN(len(choices))] }

// absent leaves a member out.
type absent struct{}

func (m mutation) list(most int, item func() any) []any {
	items := []any{}
	for range m.IntN(most + 1) {
		items = append(items, item())
	}
	return items
}

func (m mutation) scopeValue() any {
	return m.pick("$APP/**", raw("1"), raw("1.5"), raw("true"), raw("9223372036854775808"), raw("1e400"),
		raw("-9223372036854775809"), []pair{{"path", "x"}}, []pair{{"path", "x"}, {"path", "y"}}, []any{"x"}, nil)
}

func (m mutation) entry() any {
	switch m.IntN(8) {
	case 0:
		return m.pick("bad_id", "tauri-plugin-x:y", "a--b", "", "a:b:c", "core:a:b:c", "A", ":a", "a:", "a-", "fs:*",
			strings.Repeat("a", 116), strings.Repeat("a", 117), raw("5"), nil, []any{})
	case 1, 2:
		object := []pair{{"identifier", m.pick("fs:scope", "fs:scope", "fs:allow-x", "bad_id", raw("5"), absent{})}}
		scope := func() any {
			return m.pick(absent{}, m.list(2, m.scopeValue), m.list(2, m.scopeValue), nil, "x", []pair{})
		}
		return append(object, pair{"allow", scope()}, pair{"deny", scope()}, pair{m.pick("scope", "x").(string),
			m.pick(absent{}, raw("1"))})
	}
	return m.pick("core:default", "fs:allow-x", "core:window:allow-close", "greet", "shell:default")
}

func (m mutation) capability() any {
	labels := func() any {
		return m.pick(absent{}, []any{"main"}, []any{"main"}, []any{}, []any{"a", "b-*"}, []any{"[bad"}, nil, "main",
			[]any{raw("5")})
	}
	object := []pair{
		{"identifier", m.pick("a", "a", "a", "x y", "", raw("5"), nil, absent{})},
		{"description", m.pick(absent{}, absent{}, "d", nil, raw("5"))},
		{"local", m.pick(absent{}, absent{}, raw("true"), raw("false"), nil, "true")},
		{"remote", m.pick(absent{}, absent{}, nil, []pair{{"urls", []any{"https://*.a.b"}}}, []pair{{"urls", []any{}}},
			[]pair{}, []pair{{"urls", nil}}, []any{}, []pair{{"urls", []any{raw("5")}}},
			[]pair{{"urls", []any{}}, {"x", raw("1")}})},
		{"windows", labels()}, {"webviews", labels()},
		{"platforms", m.pick(absent{}, absent{}, nil, []any{"linux"}, []any{"macOS", "windows", "iOS"}, []any{"macos"},
			[]any{}, "linux", []any{raw("5")}, []any{"linux", "linux"})},
		{"permissions", m.pick(m.list(4, m.entry), m.list(4, m.entry), m.list(4, m.entry), m.list(4, m.entry), nil,
			"core:default", absent{})},
		{"x", m.pick(absent{}, absent{}, raw("1"), nil)},
	}
	if m.IntN(10) == 0 {
		object = append(object, object[m.IntN(len(object))]) // a key twice
	}
	// Most have one mistake or none, so that it is that which decides.
	for i := range object {
		if m.IntN(3) > 0 && object[i].key != "identifier" && object[i].key != "permissions" {
			object[i].value = absent{}
		}
	}
	return object
}

func (m mutation) configuration() any {
	one := func() any { return m.pick(m.capability(), m.capability(), m.capability(), "main") }
	switch m.IntN(12) {
	case 0:
		return m.pick("main", nil, []pair{}, []any{raw("5")}, []any{nil}, []any{[]any{}}, []any{}, raw("5"))
	case 1:
		return m.list(3, one)
	}
	return []any{m.capability()}
}

// write returns a value as JSON or as TOML; it is false for what TOML cannot write.
func write(value any, asTOML bool) (string, bool) {
	ok := true
	inner := func(v any) string {
		text, sound := write(v, asTOML)
		ok = ok && sound
		return text
	}
	switch v := value.(type) {
	case raw:
		return string(v), true
	case string:
		text, _ := json.Marshal(v)
		return string(text), true
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, inner(item))
		}
		return "[" + strings.Join(items, ", ") + "]", ok
	case []pair:
		var members []string
		separator := ": "
		if asTOML {
			separator = " = "
		}
		for _, p := range v {
			if _, no := p.value.(absent); !no {
				members = append(members, fmt.Sprintf("%q%s%s", p.key, separator, inner(p.value)))
			}
		}
		return "{" + strings.Join(members, ", ") + "}", ok
	}
	return "null", !asTOML
}

// realCommandLine returns a function that reports whether the real command line accepts the
// configuration in a folder: it reads it before anything else that it does.
func realCommandLine(t *testing.T) func(dir string) (accepted bool, output string) {
	t.Helper()
	script := os.Getenv("TAURI_CLI")
	if script == "" {
		t.Skip("TAURI_CLI does not name the tauri.js of the npm package @tauri-apps/cli")
	}
	return func(dir string) (bool, string) {
		command := exec.Command("node", script, "inspect", "wix-upgrade-code")
		command.Dir = dir
		out, _ := command.CombinedOutput()
		return strings.Contains(string(out), "Cargo.toml"), string(out) // which it looks for next
	}
}

// The real command line accepts and refuses the same configurations: it checks JSON by its
// schema, and decodes them.
func TestConfigurationsAreJudgedLikeByTheRealCommandLine(t *testing.T) {
	t.Parallel()
	accepts := realCommandLine(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := mutation{rand.New(rand.NewPCG(seed, 0))}
	const cases = 200
	accepted := 0
	for done := 0; done < cases; {
		asTOML := m.IntN(3) == 0
		list, ok := write(m.configuration(), asTOML)
		if !ok {
			continue
		}
		done++
		name, text := "tauri.conf.json", `{"productName": "x", "version": "0.1.0", "identifier": "com.example.x", `+
			`"app": {"security": {"capabilities": `+list+`}}}`
		if asTOML {
			name, text = "Tauri.toml", "productName = \"x\"\nversion = \"0.1.0\"\nidentifier = \"com.example.x\"\n"+
				"[app.security]\ncapabilities = "+list+"\n"
		}
		dir := project(t, map[string]string{filepath.Join("src-tauri", name): text})
		theirs, out := accepts(dir)
		config := capability.ParseValue([]byte(text), capability.Options{Name: name})
		found := append(config.Check(), capability.Inlined(config).Check()...)
		_, configured := (&capability.App{Config: config}).Capabilities("")
		for _, d := range configured {
			if d.Code == "wrong-type" { // the names are not looked up here
				found = append(found, d)
			}
		}
		require.Equal(t, theirs, !found.HasErrors(), "%s\n%s\n%v", text, out, found)
		if theirs {
			accepted++
		}
	}
	t.Logf("%d of %d accepted", accepted, cases)
	require.Greater(t, accepted, cases/50, "the sample has too few that are valid")
	require.Less(t, accepted, cases*9/10)
}

// The real command line merges the configuration of a platform, where null removes, into the other
// one before it judges. The command that is run here reads that of Windows.
func TestPlatformConfigurationsAreJudgedLikeByTheRealCommandLine(t *testing.T) {
	t.Parallel()
	accepts := realCommandLine(t)
	for text, want := range map[string]bool{`{"app":{"security":{"capabilities":null}}}`: true, `{"app":null}`: true,
		`{"app":{"security":null}}`: true, `{"app":{"security":{"capabilities":5}}}`: false, `{}`: true,
		`{"app":{"security":{"capabilities":[5]}}}`: false, `{"app":{"security":{"capabilities":[]}}}`: true} {
		dir := project(t, map[string]string{"src-tauri/capabilities/main.json": sound,
			"src-tauri/tauri.conf.json": `{"productName": "x", "version": "0.1.0", "identifier": "com.example.x", ` +
				`"app": {"security": {"capabilities": ["main"]}}}`,
			"src-tauri/tauri.windows.conf.json": text})
		theirs, out := accepts(dir)
		require.Equal(t, want, theirs, "%s: %s", text, out)
		code, found, errs := run("check", "-platform", "windows", dir)
		require.Equal(t, want, code == cli.ExitClean, "%s: %s%s", text, found, errs)
	}
}

// The real command line accepts every grant that calls -fix writes, into a configuration as JSON
// and as TOML; here one for each command that a function of the packages calls.
func TestGrantsAreAcceptedByTheRealCommandLine(t *testing.T) {
	t.Parallel()
	accepts := realCommandLine(t)
	table, err := os.ReadFile(filepath.Join("..", "calls", "calls.tsv"))
	require.NoError(t, err)
	source := "import { invoke } from '@tauri-apps/api/core'\n"
	commands := make(map[string]bool)
	for _, name := range regexp.MustCompile(`plugin:[a-z-]+\|[a-z_]+`).FindAllString(string(table), -1) {
		if !commands[name] {
			source += "invoke('" + name + "')\n"
		}
		commands[name] = true
	}
	for name, text := range map[string]string{
		"tauri.conf.json": `{"productName": "x", "version": "0.1.0", "identifier": "com.example.x", "app": {` +
			`"security": {"capabilities": [{"identifier": "m", "windows": ["main"], "permissions": []}]}}}`,
		"Tauri.toml": "productName = \"x\"\nversion = \"0.1.0\"\nidentifier = \"com.example.x\"\n" +
			"[[app.security.capabilities]]\nidentifier = \"m\"\nwindows = [\"main\"]\npermissions = []\n"} {
		dir := project(t, map[string]string{"src-tauri/" + name: text, "src/a.js": source, "package.json": "{}"})
		_, out, errs := run("calls", "-fix", dir)
		require.NotContains(t, out, "call-denied", errs)
		code, out, _ := run("check", dir)
		require.Equal(t, cli.ExitClean, code, out)
		written, err := os.ReadFile(filepath.Join(dir, "src-tauri", name))
		require.NoError(t, err)
		require.Equal(t, len(commands), strings.Count(string(written), ":allow-"), "%s", written)
		require.NotContains(t, string(written), "*")
		accepted, theirs := accepts(dir)
		require.True(t, accepted, theirs)
	}
}
