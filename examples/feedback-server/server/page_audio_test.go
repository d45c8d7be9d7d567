package server_test

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
)

// Of the rising sound, in Hz.
const (
	lowest    = 500.0
	perSecond = 50.0
)

// length of the rising sound in seconds, after which a microphone may begin it again.
const length = 100

// risingSound writes a sound whose pitch tells the second at which it was played. It is silent for
// 0.8 s from each of the pauses on, which are in seconds.
func risingSound(t *testing.T, pauses ...float64) string {
	t.Helper()
	installedProgram(t, "ffmpeg")
	sound := fmt.Sprintf("0.3*sin(2*PI*(%f*t+%f*t*t))", lowest, perSecond/2)
	for _, p := range pauses {
		sound += fmt.Sprintf("*not(between(t,%f,%f))", p, p+0.8)
	}
	file := filepath.Join(t.TempDir(), "rising.wav")
	out, err := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
		fmt.Sprintf("aevalsrc='%s':s=48000:d=%d", sound, length), "-c:a", "pcm_s16le", file).CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// heardFrom compares a part that was stored with the rising sound that was played, tenth by tenth
// of a second: each must be where it belongs, by 30 ms, and so many at most be silent. It returns
// the second of the sound at which the part begins.
func heardFrom(t *testing.T, file string, silent int) float64 {
	t.Helper()
	const window = sampleRate / 10
	samples := decoded(t, file)
	windows := slices.Collect(slices.Chunk(samples, window))
	windows = windows[:len(samples)/window]
	loud := func(i int) bool {
		for piece := range slices.Chunk(windows[i], window/10) {
			if slices.Max(piece) < 2000 {
				return false
			}
		}
		return true
	}
	var starts []float64 // of the part, as each of the windows tells
	for i := 1; i < len(windows)-1; i++ {
		if loud(i-1) && loud(i) && loud(i+1) { // the codec blurs the edges of silence
			pitch, middle := pitchOf(windows[i])
			start := (pitch-lowest)/perSecond - float64(i)/10 - middle
			if len(starts) > 0 { // the sound may have begun again
				start = starts[0] + math.Remainder(start-starts[0], length)
			}
			starts = append(starts, start)
		}
	}
	require.LessOrEqual(t, len(windows)-len(starts), silent, "windows without the sound")
	slices.Sort(starts)
	median := starts[len(starts)/2]
	require.Less(t, median-starts[0], 0.03, "a window is too early")
	require.Less(t, starts[len(starts)-1]-median, 0.03, "a window is too late")
	return median
}

// pitchOf returns the pitch in Hz, and the second in the samples at which it is measured.
func pitchOf(samples []int16) (pitch, middle float64) {
	var crossings []float64 // from below zero to above it
	for i := 1; i < len(samples); i++ {
		if before, after := float64(samples[i-1]), float64(samples[i]); before < 0 && after >= 0 {
			crossings = append(crossings, (float64(i-1)+before/(before-after))/sampleRate)
		}
	}
	first, last := crossings[0], crossings[len(crossings)-1]
	return float64(len(crossings)-1) / (last - first), (first + last) / 2
}

// requireOnce checks that the parts contain the rising sound without a gap, and returns from which
// of its seconds to which. Where parts meet, 0.2 s are in both, less or more on a busy machine.
func requireOnce(t *testing.T, files []string, durations []float64, silent int) (from, to float64) {
	t.Helper()
	for i, file := range files {
		start := heardFrom(t, file, silent)
		if i == 0 {
			from = start
		} else {
			start = to + math.Remainder(start-to, length)
			t.Logf("parts %d and %d overlap by %.0f ms", i, i+1, (to-start)*1000)
			require.Greater(t, to-start, -0.005, "seconds are missing")
			require.Less(t, to-start, 1.0, "seconds are doubled")
		}
		to = start + durations[i]
	}
	return from, to
}

// The network is away while the page records. What is stored is what was played, each second once.
func TestEverySecondArrivesOnceWithoutTheNetwork(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, microphone(risingSound(t, 21.5, 43))...)
	n := newFaultyNetwork(t, "http://"+serve(t, onSQLite(t, server.RoleAPI)))
	c, p := b.openStudent(n.url)
	const away, back, parts = 4, 64, 3
	b.clickButton("Record")
	b.waitRecorded(away)
	n.fail(unreachable)
	b.waitRecorded(back)
	b.waitText("The server cannot be reached.")
	n.recover()
	b.clickButton("Stop")
	files, durations := storedParts(t, c, p.ID, parts)
	from, to := requireOnce(t, files, durations, 20)
	require.InDelta(t, 21.5, from+durations[0], 1.5, "the parts meet in the pause")
	t.Logf("%.1f s arrived", to-from)
	b.until(`() => !document.body.innerText.includes("not sent yet")`, "")
}

// A device that is too busy to deliver the sound says so while it records.
func TestMissingSoundIsTold(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	b.openStudent(development(t, saying("Heard.")))
	b.eval(`stats = Object.getOwnPropertyDescriptor(MediaStreamTrack.prototype, "stats").get;
		lost = 0; Object.defineProperty(MediaStreamTrack.prototype, "stats", { get() {
			return { deliveredFramesDuration: stats.call(this).deliveredFramesDuration - lost };
		} }); ""`)
	b.clickButton("Record")
	b.waitRecorded(2)
	b.eval(`lost = 60_000; ""`)
	b.until(`() => /too busy: about (59|[6-8]\d) seconds are missing/.test(document.body.innerText)`, "")
}
