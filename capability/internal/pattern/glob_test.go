package pattern

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

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
		return fmt.Sprintf("ERR@%d", err.(*GlobError).Offset)
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

// FuzzGlob compares with a regular expression made of the tokens.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"main-*", "main-1"}, {"a/**/b", "a/x/b"}, {"[!a-c]?", "zé"}, {"**/x*", "q/xx"},
		{"*a*", "bab"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, label string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(label) {
			t.Skip()
		}
		g, err := CompileGlob(pattern)
		if err != nil {
			require.LessOrEqual(t, err.(*GlobError).Offset, utf8.RuneCountInString(pattern))
			return
		}
		re, err := regexp.Compile(globRegexp(pattern))
		if err != nil {
			t.Skip() // more than the regexp package takes
		}
		require.Equal(t, re.MatchString(label), g.Match(label), "%q on %q by %s", pattern, label, re)
	})
}

// globRegexp writes a well-formed pattern as a regular expression.
func globRegexp(pattern string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	chars := []rune(pattern)
	for i := 0; i < len(chars); i++ {
		switch c := chars[i]; {
		case c == '?':
			b.WriteString(".")
		case c == '*' && i+1 < len(chars) && chars[i+1] == '*':
			b.WriteString(`(?:|.*/|.*\z)`)
			i += 2
		case c == '*':
			b.WriteString(".*")
		case c == '[':
			i++
			negated := chars[i] == '!'
			if negated {
				i++
			}
			end := i + 1
			for chars[end] != ']' {
				end++
			}
			var alternatives []string
			for set := chars[i:end]; len(set) > 0; {
				if len(set) >= 3 && set[1] == '-' {
					if set[0] <= set[2] {
						alternatives = append(alternatives, fmt.Sprintf(`\x{%x}-\x{%x}`, set[0], set[2]))
					}
					set = set[3:]
				} else {
					alternatives = append(alternatives, fmt.Sprintf(`\x{%x}`, set[0]))
					set = set[1:]
				}
			}
			switch class := strings.Join(alternatives, ""); {
			case class == "" && negated:
				b.WriteString(".")
			case class == "":
				b.WriteString(`[^\x{0}-\x{10ffff}]`)
			case negated:
				b.WriteString("[^" + class + "]")
			default:
				b.WriteString("[" + class + "]")
			}
			i = end
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String() + `\z`
}
