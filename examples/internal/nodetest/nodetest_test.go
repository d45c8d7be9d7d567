package nodetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/nodetest"
)

func TestProgramUsesItsPackages(t *testing.T) {
	t.Parallel()
	out := nodetest.Run(t, "testdata/hello", []string{"WHOM=node"}, "hello.mjs", "hello")
	require.Equal(t, "hello node: 2s\n", out)
}

// failing records what a test that fails reports.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatalf(_ string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			f.message = err.Error()
		}
	}
	f.SkipNow()
}

func TestProgramThatFailsFailsTheTest(t *testing.T) {
	t.Parallel()
	var f *failing
	t.Run("failing", func(t *testing.T) {
		f = &failing{TB: t}
		nodetest.Run(f, "testdata/hello", nil, "hello.mjs")
	})
	if f.message == "" {
		t.Skip("node or npm is missing")
	}
	require.Contains(t, f.message, "nothing to say")
}
