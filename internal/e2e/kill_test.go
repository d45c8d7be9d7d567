//go:build linux

package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/feedback/feedbackclient"
)

// soon returns a random pause between two faults.
func soon() time.Duration { return 30*time.Millisecond + rand.N(900*time.Millisecond) }

// Servers and their workers are killed at random moments.
func TestKilledProcessesLoseNothing(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		killAtRandom(t, s, rec)
	})
}

// killAtRandom kills processes of a service, as many as the engine allows, while phones upload.
func killAtRandom(t *testing.T, s *service, rec *recogniser) {
	t.Helper()
	s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4")
	s.start(t)
	services := []*service{s}
	if s.shared() {
		services = append(services, s.beside(t))
		services[1].start(t)
	}
	l := startLoad(t, 8, 60*time.Millisecond, services...)
	kills := times(3, 15, 100)
	for range kills {
		time.Sleep(soon())
		victim := services[rand.IntN(len(services))]
		victim.process.kill()
		victim.start(t)
	}
	sum(t, "%d kills of %d processes", kills, len(services))
	audit(t, l, s, rec)
}

// A lesson that is transcribed again keeps its texts while servers are killed and the recogniser is
// down, and then has each new one.
func TestKilledProcessesKeepTextsThatAreTranscribedAgain(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.env = append(s.env, "ASR_WORKER_CONCURRENCY=2")
		s.start(t)
		_, session, lesson := openLesson(t, s.client)
		var hashes []string
		for i := range 12 {
			audio := fleet.NewRecording()
			hashes = append(hashes, hashOf(audio))
			_, err := s.client.Upload(t.Context(), lesson.ID, i, "a.wav", audio)
			require.NoError(t, err)
		}
		segments := func() []feedbackclient.Segment { return s.lesson(t, session.ID).Segments }
		settled := func() bool { return s.settled(t, session.ID, "transcribed") }
		eventually(t, "all are transcribed", settled)
		mended := "as the teacher heard it"
		_, err := s.client.EditSegment(t.Context(), segments()[0].ID, feedbackclient.SegmentEdit{Text: &mended})
		require.NoError(t, err)
		first := segments()
		rounds := times(2, 5, 30)
		for range rounds {
			rec.down()
			asked := make(chan error, 1)
			go func() {
				_, err := s.client.RetryLesson(t.Context(), lesson.ID, "en")
				asked <- err
			}()
			time.Sleep(rand.N(20 * time.Millisecond)) // the request is lost, or its answer, or neither
			s.process.kill()
			<-asked
			s.start(t)
			_, err = s.client.RetryLesson(t.Context(), lesson.ID, "en")
			require.NoError(t, err)
			for i, g := range segments() {
				require.True(t, fleet.IsTextOf(g.Text, hashes[i]), "%s %q", g.State, g.Text)
				require.Equal(t, first[i].TranscribedAt, g.TranscribedAt)
			}
			rec.up(t)
			time.Sleep(soon())
			s.process.kill()
			s.start(t)
			eventually(t, "all are transcribed again", settled)
			again := segments()
			for i, g := range again {
				require.True(t, fleet.IsTextOf(g.Text, hashes[i]), "%q", g.Text)
				require.True(t, g.TranscribedAt.After(*first[i].TranscribedAt))
				require.Empty(t, g.Error)
			}
			require.Equal(t, &mended, again[0].EditedText)
			first = again
		}
		asked, different, _ := rec.counts()
		require.Equal(t, len(hashes), different)
		sum(t, "%d lessons of %d recordings transcribed again through %d kills, in %d requests", rounds, len(hashes),
			2*rounds, asked)
	})
}
