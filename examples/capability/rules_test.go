package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
)

var update = flag.Bool("update", false, "write RULES.md")

// RULES.md, which SARIF logs link to, describes every rule; -update writes it.
func TestRulesAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(
		"# Rules of capability\n\nThe level of each rule in the modes `lint` (mistakes and risks), `schema` " +
			"(the JSON Schema) and `reference`\n(what the build accepts). `-rule CODE=LEVEL` or `capability.toml` " +
			"sets another one.\n",
	)
	for _, r := range lint.Rules() {
		levels := []string{}
		for mode, s := range []capability.Severity{r.Lint, r.Schema, r.Reference} {
			if s != capability.Off {
				levels = append(levels, fmt.Sprintf("%s in `%s`", s, capability.Mode([]capability.Mode{
					capability.ModeLint, capability.ModeSchema, capability.ModeReference}[mode])))
			}
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s (%s)\n", r.Code, r.Summary, strings.Join(levels, ", "))
	}
	if *update {
		require.NoError(t, os.WriteFile("RULES.md", []byte(b.String()), 0o644))
	}
	text, err := os.ReadFile("RULES.md")
	require.NoError(t, err)
	require.Equal(t, b.String(), string(text))
}
