//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/feedback/feedbackclient"
)

// newUploads opens a lesson. upload adds a recording to it, segments reads those it has.
func newUploads(t *testing.T, s *service) (upload func([]byte), segments func() []feedbackclient.Segment) {
	t.Helper()
	_, session, lesson := openLesson(t, s.client)
	sequence := 0
	upload = func(r []byte) {
		_, err := s.client.Upload(t.Context(), lesson.ID, sequence, "a.wav", r)
		require.NoError(t, err)
		sequence++
	}
	return upload, func() []feedbackclient.Segment { return s.lesson(t, session.ID).Segments }
}

// count returns how many segments are in a state.
func count(segments []feedbackclient.Segment, state string) (n int) {
	for _, seg := range segments {
		if seg.State == state {
			n++
		}
	}
	return n
}

// A recording that kills the recogniser each time delays others little, and fails in the end.
func TestRecordingThatKillsTheRecogniser(t *testing.T) {
	slow(t)
	for workers := 1; workers <= 2; workers++ {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			t.Parallel()
			databases(t, func(t *testing.T, url string) { poison(t, url, workers) })
		})
	}
}

// killing makes the recogniser take a while for each recording, and longer to start again after
// each of those that kill it. The result receives a value for each start.
func killing(t *testing.T, rec *recogniser, kills func(hash string) bool) (restarted chan struct{}) {
	takes := times(150*time.Millisecond, 500*time.Millisecond, 5*time.Second)
	restarts := times(500*time.Millisecond, 2*time.Second, 10*time.Second)
	restarted = make(chan struct{}, 64)
	rec.behave(func(_ http.ResponseWriter, _ *http.Request, hash string) bool {
		switch {
		case hash == "":
			return false
		case kills(hash):
			rec.down()
			time.Sleep(restarts)
			rec.up(t)
			restarted <- struct{}{}
			return true
		}
		time.Sleep(takes)
		return false
	})
	return restarted
}

// poisonRetries are the delays after the first four suspicions: the fifth comes while the full run,
// which takes five minutes, still has good recordings to transcribe.
func poisonRetries() string {
	return "ASR_RETRY_SECONDS=" + times("2,4,8,12", "2,4,8,12", "10,20,30,40")
}

func poison(t *testing.T, url string, workers int) {
	const good = 20
	const limit = 10 * time.Minute
	rec := newRecogniser(t)
	s := newService(t, url, rec.url())
	s.start(t, fmt.Sprint("ASR_WORKER_CONCURRENCY=", workers), poisonRetries())
	var poisonous atomic.Pointer[string]
	restarted := killing(t, rec, func(hash string) bool {
		p := poisonous.Load()
		return p != nil && *p == hash
	})
	upload, segments := newUploads(t, s)
	run := func() time.Duration {
		began, before := time.Now(), count(segments(), "transcribed")
		for range good {
			upload(fleet.NewRecording())
		}
		within(t, limit, "the good recordings are transcribed", func() bool {
			return count(segments(), "transcribed") == before+good
		})
		return time.Since(began)
	}
	without := run()
	deadly := fleet.NewRecording()
	hash := hashOf(deadly)
	poisonous.Store(&hash)
	upload(deadly)
	with := run()
	within(t, limit, "the poisonous recording fails", func() bool { return count(segments(), "failed") == 1 })
	for range 5 {
		<-restarted
	}
	bad := segments()[good]
	require.Equal(t, "failed", bad.State)
	require.Contains(t, bad.Error, "the recogniser was lost")
	require.Contains(t, s.process.log.String(), bad.ID, "the log names the recording")
	rec.mu.Lock()
	runs := rec.asked[hash]
	rec.mu.Unlock()
	require.Equal(t, 5, runs)
	sum(t, "%d good recordings beside one that kills the recogniser, %d workers: %v, without it %v: %.2f times",
		good, workers, with.Round(time.Millisecond), without.Round(time.Millisecond), with.Seconds()/without.Seconds())
	if *faults == "full" { // which has a machine of its own
		require.LessOrEqual(t, with, 3*without)
	}

	poisonous.Store(nil)
	require.NoError(t, s.client.Call(t.Context(), "POST", "/api/v1/audio-segments/"+bad.ID+"/retry", nil, nil))
	eventually(t, "a retry is heard", func() bool { return count(segments(), "transcribed") == 2*good+1 })
}

// Recordings that kill the recogniser fail also if there are no others: that it answers again after
// each of them shows that they are the cause.
func TestOnlyRecordingsThatKillTheRecogniser(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		const deadly = 4
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.start(t, poisonRetries())
		restarted := killing(t, rec, func(string) bool { return true })
		upload, segments := newUploads(t, s)
		for range deadly {
			upload(fleet.NewRecording())
		}
		within(t, 10*time.Minute, "all fail", func() bool { return count(segments(), "failed") == deadly })
		for range 5 * deadly {
			<-restarted
		}
		asked, different, _ := rec.counts()
		require.Equal(t, []int{5 * deadly, deadly}, []int{asked, different})
		for _, seg := range segments() {
			require.Contains(t, seg.Error, "the recogniser was lost")
		}
		sum(t, "%d recordings that kill the recogniser, and no others: all failed after 5 runs each", deadly)
	})
}

// A recogniser that fails with everything for a while costs no recording more than an attempt, and
// /health says so.
func TestBadMinute(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.start(t)
		rec.behave(func(w http.ResponseWriter, _ *http.Request, hash string) bool {
			if hash == "" {
				return false // its own health is fine
			}
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":"CUDA error: out of memory"}`)
			return true
		})
		const recordings = 6
		upload, segments := newUploads(t, s)
		for range recordings {
			upload(fleet.NewRecording())
		}
		const says = "the last 3 different recordings have failed: CUDA error: out of memory"
		eventually(t, "/health says that the recogniser fails, and why", func() bool {
			h, err := s.client.Health(t.Context())
			require.NoError(t, err)
			return !h.SpeechAvailable && strings.Contains(h.Speech.Detail, says)
		})
		bad := times(5*time.Second, 20*time.Second, time.Minute)
		time.Sleep(bad)
		now := segments()
		require.Equal(t, recordings, count(now, "queued")+count(now, "transcribing"))
		rec.behave(nil)
		eventually(t, "all are transcribed", func() bool { return count(segments(), "transcribed") == recordings })
		most := 0
		for _, seg := range segments() {
			most = max(most, seg.Attempts)
		}
		require.LessOrEqual(t, most, 2)
		sum(t, "500 for every recording for %v: %d attempts at most", bad, most)
	})
}
