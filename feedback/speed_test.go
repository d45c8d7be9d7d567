package feedback

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The time in which several transcriptions overlap counts once, and that between them not at all.
func TestSpeedOfTranscriptionsThatOverlap(t *testing.T) {
	t.Parallel()
	span := func(from, to time.Duration) TranscriptionTime {
		return TranscriptionTime{Ended: time.Unix(0, 0).Add(to), Took: to - from}
	}
	for name, c := range map[string]struct {
		last []TranscriptionTime // the last one first
		busy time.Duration
	}{
		"one":                 {[]TranscriptionTime{span(0, 4)}, 4},
		"one after the other": {[]TranscriptionTime{span(4, 8), span(0, 4)}, 8},
		"a pause between":     {[]TranscriptionTime{span(100, 104), span(0, 4)}, 8},
		"overlapping":         {[]TranscriptionTime{span(2, 6), span(0, 4)}, 6},
		"one during another":  {[]TranscriptionTime{span(0, 9), span(2, 4)}, 9},
		"three at once":       {[]TranscriptionTime{span(0, 6), span(0, 6), span(0, 5)}, 6},
		"a long one before":   {[]TranscriptionTime{span(8, 9), span(6, 7), span(0, 6)}, 8},
		"a chain":             {[]TranscriptionTime{span(5, 9), span(3, 6), span(0, 4)}, 9},
	} {
		require.Equal(t, c.busy, speedOf(c.last).busy, name)
	}
}
