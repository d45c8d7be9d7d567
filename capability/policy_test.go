package capability

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cmd returns a command that a test knows to be well-formed.
func cmd(text string) Command {
	c, err := ParseCommand(text)
	if err != nil {
		panic(err)
	}
	return c
}

// All commands of the core are read in all ways in which they are written.
func TestParseCommandTakesEverySpelling(t *testing.T) {
	t.Parallel()
	commands := 0
	for line := range strings.Lines(coreTable) {
		fields := strings.Split(line, "\t")
		if len(fields) < 2 {
			continue
		}
		commands++
		namespace, name := fields[0], fields[1]
		want := cmd("plugin:" + namespace + "|" + strings.ReplaceAll(name, "-", "_"))
		for _, name := range []string{name, strings.ReplaceAll(name, "-", "_")} {
			for _, plugin := range []string{namespace, "core:" + namespace} {
				for _, text := range []string{
					"plugin:" + plugin + "|" + name, plugin + "|" + name, plugin + ":" + name,
					plugin + ":allow-" + name, plugin + ":deny-" + name,
				} {
					require.Equal(t, want, cmd(text), text)
				}
			}
		}
	}
	require.Greater(t, commands, 150)
	for in, want := range map[string]string{
		"core:app:framework-version":     "plugin:app|tauri_version",
		"plugin:app|framework_version":   "plugin:app|tauri_version",
		"my-command":                     "my_command",
		"fs.read_text_file":              "plugin:fs|read_text_file",
		"fs.readTextFile":                "plugin:fs|read_text_file",
		"Window.setTitle":                "plugin:window|set_title",
		"plugin:__TAURI_CHANNEL__|fetch": "plugin:__TAURI_CHANNEL__|fetch",
	} {
		require.Equal(t, want, cmd(in).String(), in)
	}
	for _, text := range []string{"", "a.b.c", "plugin:broken", "plugin:x|", "|x", "Invoke the thing!", "a|b|c"} {
		_, err := ParseCommand(text)
		require.ErrorContains(t, err, "is not a command", text)
	}
}

// What is too much to be resolved is refused, and grants nothing.
func TestTooManyGrantsAreNone(t *testing.T) {
	t.Parallel()
	list := func(n int, item string) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(item, i))
		}
		return strings.Join(items, ",")
	}
	text := `{"identifier":"a","windows":["m"],"permissions":[` +
		list(200, `{"identifier":"core:default","allow":[%d]}`) + `],"remote":{"urls":[` +
		list(200, `"https://a%d.example"`) + `]}}`
	policy, found := Resolve(capabilities(t, text), CoreManifests(), ResolveOptions{})
	require.Len(t, found, 1)
	require.EqualValues(t, "too-large", found[0].Code)
	require.Equal(t, Error, found[0].Severity)
	require.False(t, policy.Allowed(cmd("plugin:app|version"), Caller{Window: "m"}))
	require.False(t, policy.Allowed(cmd("greet"), Caller{Window: "m"}))
	require.Empty(t, policy.Commands())
	require.True(t, policy.TooLarge())
}
