package pattern

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The vectors contain what the reference implementation's library answers.
func TestGlobAnswersLikeTheReference(t *testing.T) {
	t.Parallel()
	cases, err := os.ReadFile("testdata/glob/cases.tsv")
	require.NoError(t, err)
	answers, err := os.ReadFile("testdata/glob/answers.txt")
	require.NoError(t, err)
	want := strings.Split(strings.TrimSuffix(string(answers), "\n"), "\n")
	lines := strings.Split(strings.TrimSuffix(string(cases), "\n"), "\n")
	require.Len(t, lines, len(want))
	require.Greater(t, len(lines), 2000)
	for i, line := range lines {
		pattern, label, ok := strings.Cut(line, "\t")
		require.True(t, ok, "line %d", i+1)
		require.Equal(t, want[i], globAnswer(pattern, label), "line %d: pattern %q, label %q", i+1, pattern, label)
	}
}

func globAnswer(pattern, label string) string {
	g, err := CompileGlob(pattern)
	if err != nil {
		var character int // the answers count from 0
		_, place, _ := strings.Cut(err.Error(), " is not a pattern of labels: at character ")
		_, _ = fmt.Sscanf(place, "%d,", &character)
		return fmt.Sprintf("ERR@%d", character-1)
	}
	return fmt.Sprint(g.Match(label))
}

// The vectors cannot contain what is not UTF-8.
func TestGlobOfInvalidText(t *testing.T) {
	t.Parallel()
	for pattern, label := range map[string]string{"\xff": "\xfe", "a\uFFFD": "a\xfe"} {
		g, err := CompileGlob(pattern)
		require.NoError(t, err)
		require.True(t, g.Match(label), "%q on %q", pattern, label)
	}
}

// Matching must not take time that grows with a power of the pattern.
func TestGlobIsNotSlowedByHostilePatterns(t *testing.T) {
	t.Parallel()
	g, err := CompileGlob(strings.Repeat("*a", 60) + "?b")
	require.NoError(t, err)
	require.False(t, g.Match(strings.Repeat("a", 5000)))
}
