package pattern

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every label falls into one of the classes, and into the one of its patterns.
func TestClassesOfLabelsAreComplete(t *testing.T) {
	t.Parallel()
	var labels []string
	for edge := []string{""}; len(edge[0]) < 5; {
		labels = append(labels, edge...)
		var longer []string
		for _, s := range edge {
			for _, c := range "ab/é" {
				longer = append(longer, s+string(c))
			}
		}
		edge = longer
	}
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "/", "*", "?", "[ab]", "[!a]", "**/", "/**", "c", "[a-c]"}
	for range 300 {
		var globs []Glob
		for len(globs) < 4 {
			var pattern string
			for range 1 + random.IntN(4) {
				pattern += parts[random.IntN(len(parts))]
			}
			if g, err := CompileGlob(pattern); err == nil {
				globs = append(globs, g)
			}
		}
		matches := func(label string) (set int) {
			for i := range globs {
				if globs[i].Match(label) {
					set |= 1 << i
				}
			}
			return set
		}
		list, ok := LabelClasses(globs)
		require.True(t, ok)
		known := map[int]bool{}
		for _, c := range list {
			known[matches(c.Label)] = true
		}
		require.Len(t, known, len(list), "each class has labels of its own")
		for _, label := range labels {
			if !known[matches(label)] {
				t.Fatalf("%q is in no class of %v", label, globs)
			}
		}
	}
}

func TestClassesOfURLsAreComplete(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	for range 60 {
		var patterns []*URL
		for len(patterns) < 4 {
			p, err := CompileURL(one("http", "https", "*") + "://" + one("*", "a.*", "*.b", "a.b", "*.a.*", "a") +
				one("", ":*", ":80", ":443", ":7") + one("", "/", "/x", "/x*", "/*/y", "/x/*", "/*.html*", "/x.html"))
			if err == nil && p.slow == nil {
				patterns = append(patterns, p)
			}
		}
		matches := func(o Address) (set string) {
			for _, p := range patterns {
				set += fmt.Sprint(p.Match(o))
			}
			return set
		}
		list, ok := simpleClasses(patterns)
		require.True(t, ok)
		known := map[string]bool{strings.Repeat("false", len(patterns)): true}
		for _, o := range list {
			known[matches(o)] = true
		}
		require.Len(t, known, len(list)+1)
		for range 40 {
			o, err := ParseAddress(one("http", "https", "app") + "://" + one("a", "b", "a.b", "c.b", "a.c", "c.a.b",
				"a.a.a", "c") + one("", ":80", ":443", ":7", ":8") + one("", "/", "/x", "/xx", "/x/y", "/z/y",
				"/x.html", "/a.html/", "/x//y"))
			require.NoError(t, err)
			require.True(t, known[matches(o)], "%s is in no class of %v", o, patterns)
		}
	}
}
