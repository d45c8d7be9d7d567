package feedback

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Recognizers that fail repeat one word for hours. The cost grows with the length of the texts, not
// with its square: the bound is ten times what it takes on one processor.
func TestLearningFromRepeatedWordsIsCheap(t *testing.T) {
	t.Parallel()
	repeated := strings.Repeat("la ", MaxPageText/3)
	names := ""
	for i := range 60 {
		names += "la la L" + strings.Repeat("a", i+1) + " la la "
	}
	for name, saved := range map[string]string{
		"the same word": repeated[:maxContentLength], "in capitals": strings.ToUpper(repeated[:maxContentLength]),
		"many names between the same words": names,
	} {
		best := time.Hour
		for range 3 {
			started := time.Now()
			_, err := corrections(t.Context(), []string{repeated}, saved)
			require.NoError(t, err)
			best = min(best, time.Since(started))
		}
		t.Log(name, best)
		require.Less(t, best, 500*time.Millisecond, name)
	}
}
