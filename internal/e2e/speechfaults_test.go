//go:build linux

package e2e

import (
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

// speechFault runs a load while disturb disturbs the recogniser; when disturb returns, the
// recogniser works again. It returns the highest number of attempts of any segment.
func speechFault(t *testing.T, url string, disturb func(rec *recogniser, s *service)) (attempts int) {
	t.Helper()
	rec := newRecogniser(t)
	s := newService(t, url, rec.url())
	s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4", "ASR_REQUEST_TIMEOUT_SECONDS=2", "ASR_JOB_LEASE_SECONDS=30")
	s.start(t)
	l := startLoad(t, 4, 100*time.Millisecond, s)
	disturb(rec, s)
	return audit(t, l, s, rec).Attempts
}

func TestRecogniserDownForLong(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		away := times(2*time.Second, 10*time.Second, 2*time.Minute)
		attempts := speechFault(t, url, func(rec *recogniser, s *service) {
			time.Sleep(soon())
			rec.down()
			time.Sleep(away)
			eventually(t, "/health says that and why it is down", func() bool { // found by the next recording
				h, err := s.client.Health(t.Context())
				require.NoError(t, err)
				return !h.SpeechAvailable && h.Speech.Detail != ""
			})
			rec.up(t)
		})
		require.Equal(t, 1, attempts, "a recogniser that is down costs no attempt")
		sum(t, "recogniser down for %v", away)
	})
}

func TestRecogniserHangs(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		var requests, recordings atomic.Int64
		attempts := speechFault(t, url, func(rec *recogniser, _ *service) {
			for range times(1, 2, 10) {
				// Each worker sends at most one recording to a recogniser that hangs; after that
				// only the requests that ask whether it answers again hang.
				_, _, before := rec.counts()
				eventually(t, "the recogniser is found", func() bool {
					_, _, heard := rec.counts()
					return heard > before
				})
				// It hangs from the next recording on: if a request that asks whether it answers
				// hung first, no recording might be sent to it.
				enough := recordings.Load() + 1
				rec.behave(func(_ http.ResponseWriter, r *http.Request, hash string) bool {
					if hash != "" {
						recordings.Add(1)
					} else if recordings.Load() < enough {
						return false
					}
					requests.Add(1)
					<-r.Context().Done()
					return true
				})
				eventually(t, "a recording hangs", func() bool { return recordings.Load() >= enough })
				rec.behave(nil)
				time.Sleep(soon())
			}
		})
		require.Equal(t, 1, attempts, "a recogniser that hangs costs no attempt, only a suspicion")
		require.Positive(t, recordings.Load())
		sum(t, "%d requests hung, %d of them with a recording", requests.Load(), recordings.Load())
	})
}

// nonsense is what a recogniser may answer in place of text.
var nonsense = []func(w http.ResponseWriter){
	func(w http.ResponseWriter) { io.WriteString(w, "<!doctype html><title>Welcome</title>") },
	func(w http.ResponseWriter) { io.WriteString(w, `{"text":`) },
	func(w http.ResponseWriter) { io.WriteString(w, `[]`) },
	func(w http.ResponseWriter) { io.WriteString(w, `{"text":17}`) },
	func(w http.ResponseWriter) { io.WriteString(w, `{"words":["no","text"]}`) },
	func(http.ResponseWriter) {},
	func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
	func(w http.ResponseWriter) { w.Write([]byte{0, 0xff, 0xfe, 0}) },
	func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, `{"text":"half an ans`)
	},
	func(w http.ResponseWriter) { io.WriteString(w, strings.Repeat("[", 1<<20)) },
}

func TestRecogniserAnswersNonsense(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		var answers atomic.Int64
		attempts := speechFault(t, url, func(rec *recogniser, _ *service) {
			const each = 2 // of six attempts
			rec.behave(func(w http.ResponseWriter, _ *http.Request, hash string) bool {
				rec.mu.Lock()
				n := rec.asked[hash]
				rec.mu.Unlock()
				if hash == "" || n > each {
					return false
				}
				i := answers.Add(1)
				nonsense[int(i)%len(nonsense)](w)
				return true
			})
			enough := times[int64](20, 50, 500)
			eventually(t, "nonsense was answered", func() bool { return answers.Load() >= enough })
		})
		require.LessOrEqual(t, attempts, 3)
		sum(t, "%d answers of nonsense", answers.Load())
	})
}

// A recording that the recogniser always refuses fails with a reason, delays no others and can be
// retried.
func TestRecogniserRefusesOneFile(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.start(t)
		_, session, lesson := openLesson(t, s.client)
		recordings := make([][]byte, 10)
		for i := range recordings {
			recordings[i] = fleet.NewRecording()
		}
		const refused, choked = 2, 5
		hashes := map[string]int{hashOf(recordings[refused]): refused,
			hashOf(recordings[choked]): choked}
		rec.behave(func(w http.ResponseWriter, _ *http.Request, hash string) bool {
			i, bad := hashes[hash]
			switch {
			case !bad:
				return false
			case i == refused:
				http.Error(w, `{"error":"this is not speech"}`, http.StatusBadRequest)
			default:
				http.Error(w, `{"error":"out of range"}`, http.StatusInternalServerError)
			}
			return true
		})
		for i, r := range recordings {
			_, err := s.client.Upload(t.Context(), lesson.ID, i, "a.wav", r)
			require.NoError(t, err)
		}
		segments := func() []feedbackclient.Segment { return s.lesson(t, session.ID).Segments }
		settled := func() bool { return s.settled(t, session.ID, "transcribed", "failed") }
		eventually(t, "all segments are settled", settled)
		for i, seg := range segments() {
			bad := i == refused || i == choked
			require.Equal(t, map[bool]string{true: "failed", false: "transcribed"}[bad], seg.State, "segment %d", i)
			require.Equal(t, bad, seg.Error != "", "segment %d", i)
		}
		require.Equal(t, 1, segments()[refused].Attempts, "a refusal is final at once")
		require.Equal(t, 6, segments()[choked].Attempts)

		again := func(i int) {
			require.NoError(t, s.client.Call(t.Context(), "POST", "/api/v1/audio-segments/"+segments()[i].ID+"/retry",
				nil, nil))
		}
		again(refused)
		eventually(t, "it fails again", settled)
		require.Equal(t, "failed", segments()[refused].State)
		rec.behave(nil)
		again(refused)
		again(choked)
		eventually(t, "it is transcribed in the end", settled)
		for i, seg := range segments() {
			require.True(t, fleet.IsTextOf(seg.Text, hashOf(recordings[i])), "segment %d: %s %q", i, seg.State,
				seg.Text)
		}
		sum(t, "one file refused, one failing on every attempt, 8 others transcribed")
	})
}
