package feedback

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Recognizers that fail repeat one word for hours. The cost grows with the length of the texts, not
// with its square, which would be 16 times as much for texts four times as long.
func TestLearningFromRepeatedWordsIsCheap(t *testing.T) {
	repeated := strings.Repeat("la ", MaxPageText/3)
	names := func(n int) (text string) {
		for i := range n {
			text += "la la L" + strings.Repeat("a", i%60+1) + " la la "
		}
		return text
	}
	everyone := ""
	for i := range 10_000 {
		everyone += "L" + strconv.Itoa(i) + " "
	}
	cost := func(transcript, saved string) float64 {
		started := time.Now()
		_, err := corrections(t.Context(), []string{transcript}, saved)
		require.NoError(t, err)
		return float64(time.Since(started))
	}
	for name, saved := range map[string]func(part int) string{
		"the same word":      func(part int) string { return repeated[:maxContentLength/part] },
		"in capitals":        func(part int) string { return strings.ToUpper(repeated[:maxContentLength/part]) },
		"many names between": func(part int) string { return names(60 / part) },
		"nothing but names":  func(part int) string { return everyone[:len(everyone)/part] },
	} {
		times := 16.0
		for try := 0; try < 20 && times > 8; try++ { // other processes disturb some tries, not all
			short := cost(repeated[:len(repeated)/4], saved(4))
			times = min(times, cost(repeated, saved(1))/short)
		}
		require.Less(t, times, 8.0, name)
	}
}
