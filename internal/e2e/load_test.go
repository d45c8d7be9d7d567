//go:build linux

package e2e

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/feedback/audiotype"
)

// startLoad starts phones against servers that share their data.
func startLoad(t *testing.T, phones int, pace time.Duration, services ...*service) *fleet.Fleet {
	t.Helper()
	c := fleet.Config{HTTP: services[0].client.HTTP, Phones: phones, Pace: pace, Patience: waitLimit,
		Attempt: time.Minute} // more than a busy machine needs
	for _, s := range services {
		c.URLs = append(c.URLs, s.client.Base)
	}
	l, err := fleet.Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// wav returns a recording of a size, in bytes without its header, which is unlike any other.
func wav(size int) []byte {
	samples := make([]byte, size)
	_, _ = rand.Read(samples) // never fails
	return append(audiotype.WAVHeader(int64(size), 16_000, 1), samples...)
}

// audit stops the load and proves that nothing was lost: every acknowledged segment is there byte
// for byte and has its text, once, in its place; what was not acknowledged is there whole or not at
// all; and nothing else is in the audio directory. s must be running; audit restarts it, so that it
// deletes unreferenced audio.
func audit(t *testing.T, l *fleet.Fleet, s *service, rec *recogniser) fleet.Tally {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	tally, err := l.Audit(ctx)
	require.NoError(t, err)
	require.Empty(t, tally.Problems)
	auditFiles(t, s)
	asked, different, _ := rec.counts()
	require.Positive(t, tally.Acknowledged)
	sum(t, "%d segments, refused attempts %v, p99 %v; %d recognitions of %d recordings; "+
		"%d kept without an acknowledgement; texts complete after %v",
		tally.Acknowledged, tally.Failures, tally.P99.Round(time.Millisecond), asked, different, tally.Kept,
		tally.Texts.Round(time.Second))
	return tally
}
