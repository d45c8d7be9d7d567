package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/calls"
	"lessonkit.example/capability/lint"
)

var update = flag.Bool("update", false, "write RULES.md")

// RULES.md, which SARIF logs link to, describes every rule; -update writes it.
func TestRulesAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Rules of capability\n\nAn error means that the build refuses the files, or that a call fails. " +
		"`-rule CODE=LEVEL` or `capability.toml` sets another level.\n")
	for _, r := range slices.Concat(lint.Rules(), calls.Rules()) {
		fmt.Fprintf(&b, "\n## %s\n\n%s (%s)\n", r.Code, r.Summary, r.Severity)
	}
	if *update {
		require.NoError(t, os.WriteFile("RULES.md", []byte(b.String()), 0o644))
	}
	text, err := os.ReadFile("RULES.md")
	require.NoError(t, err)
	require.Equal(t, b.String(), string(text))
}
