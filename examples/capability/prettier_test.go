package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/format"
	"lessonkit.example/examples/internal/nodetest"
)

// fmt writes JSON as Prettier does: the files of the application in capability/testdata, real ones
// where CAPABILITY_CORPUS names a folder of them, and 300 made by chance.
func TestFormatIsThatOfPrettier(t *testing.T) {
	var texts []string
	for _, pattern := range []string{"../../capability/testdata/app/capabilities/*.json",
		filepath.Join(os.Getenv("CAPABILITY_CORPUS"), "*.json")} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			texts = append(texts, string(text))
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		texts = append(texts, randomText(random, 0))
	}
	input, err := json.Marshal(texts)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "texts.json")
	require.NoError(t, os.WriteFile(file, input, 0o600))
	var theirs []string
	require.NoError(t, json.Unmarshal([]byte(nodetest.Run(t, "testdata/prettier", nil, "format.mjs", file)), &theirs))
	require.Len(t, theirs, len(texts))
	for i, text := range texts {
		d := capability.Parse([]byte(text), capability.Options{})
		ours, err := format.Source(d, format.Options{})
		require.NoError(t, err, text)
		require.Equal(t, theirs[i], ours, "%s", text)
	}
}

// randomText returns a JSON value with any white space.
func randomText(r *rand.Rand, depth int) string {
	space := func() string {
		return strings.Repeat(" ", r.IntN(2)) + strings.Repeat("\n", max(0, r.IntN(6)-3))
	}
	kind := r.IntN(8)
	if depth == 0 {
		kind = 6 + r.IntN(2)
	} else if depth > 4 {
		kind = r.IntN(5)
	}
	switch kind {
	case 0:
		return "true"
	case 1, 2:
		return []string{"1", "-20.5e3", "300"}[r.IntN(3)]
	case 3, 4, 5:
		return `"` + strings.Repeat([]string{"core:", "x", "字", `\/é`}[r.IntN(4)], r.IntN(20)) + `"`
	}
	var parts []string
	for i := range r.IntN(5) {
		part := space()
		if kind == 7 {
			part += fmt.Sprintf(`"k%d"`, i) + space() + ":" + space()
		}
		parts = append(parts, part+randomText(r, depth+1)+space())
	}
	text := strings.Join(parts, ",")
	if kind == 7 {
		return "{" + text + "}"
	}
	return "[" + text + "]"
}
