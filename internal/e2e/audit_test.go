//go:build linux

package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/opendb"
	"lessonkit.example/jobqueue/admin"
	"lessonkit.example/jobqueue/pgqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// audit stops the load and proves that nothing was lost: every acknowledged segment is there byte
// for byte and has its text, once, in its place; what was not acknowledged is there whole or not at
// all. s must be running; audit restarts it, so that it deletes unreferenced audio.
func (l *load) audit(t *testing.T, s *service, rec *recogniser) {
	t.Helper()
	began := time.Now()
	l.stop()
	l.awaitTexts(t, s)
	waited := time.Since(began)
	acknowledged, unacknowledged := 0, 0
	for _, p := range l.phones {
		a, u := l.auditPhone(t, s, p)
		acknowledged, unacknowledged = acknowledged+a, unacknowledged+u
	}
	l.auditFiles(t, s)
	require.Empty(t, l.violations, "violations")

	asked, different, _ := rec.counts()
	require.Positive(t, acknowledged)
	sum(t, "%d segments, %d acknowledgements, %d refused attempts %v, %d cut, p99 %v; "+
		"%d recognitions of %d recordings; %d kept without an acknowledgement; "+
		"%d sessions read; texts complete after %v",
		acknowledged, l.acknowledged.Load(), l.refused.Load(), l.problems, l.cut.Load(), l.percentile(.99), asked,
		different, unacknowledged, l.watched.Load(), waited.Round(time.Second))
}

// awaitTexts waits until all segments have text, as long as their number grows.
func (l *load) awaitTexts(t *testing.T, s *service) {
	t.Helper()
	for _, p := range l.phones {
		c := s.client
		c.Header = http.Header{"X-Development-User": {p.user}}
		most, grown := -1, time.Now()
		for waiting := true; waiting; time.Sleep(50 * time.Millisecond) {
			session, err := c.Session(t.Context(), p.session)
			if err == nil {
				s.complete(t, c, &session.Lessons[0])
				segments := session.Lessons[0].Segments
				texts := 0
				for _, seg := range segments {
					l.see(seg)
					require.NotEqual(t, "failed", seg.State, "segment %s: %s", seg.ID, seg.Error)
					if seg.State == "transcribed" {
						texts++
					}
				}
				waiting = texts < len(segments)
				if texts > most {
					most, grown = texts, time.Now()
				}
			}
			require.Less(t, time.Since(grown), waitLimit, "%d segments of %s have text, and no others get theirs",
				most, p.user)
		}
	}
}

// auditPhone compares what a phone sent with what the service has.
func (l *load) auditPhone(t *testing.T, s *service, p *phone) (acknowledged, unacknowledged int) {
	t.Helper()
	c := s.client
	c.Header = http.Header{"X-Development-User": {p.user}}
	session, err := c.Session(t.Context(), p.session)
	require.NoError(t, err)
	lesson := session.Lessons[0]
	s.complete(t, c, &lesson)
	kept := map[int]feedbackclient.Segment{}
	var texts []string
	for i, seg := range lesson.Segments {
		require.True(t, i == 0 || lesson.Segments[i-1].Sequence < seg.Sequence, "segments are in order, each once")
		kept[seg.Sequence] = seg
		texts = append(texts, seg.Text)
		l.see(seg)
	}
	for _, u := range p.uploads {
		seg, there := kept[u.sequence]
		delete(kept, u.sequence)
		switch {
		case u.segment != "":
			acknowledged++
			require.True(t, there, "sequence %d of %s was acknowledged as %s and is gone", u.sequence, p.user,
				u.segment)
			require.Equal(t, u.segment, seg.ID)
		case there:
			unacknowledged++
			require.True(t, u.whole, "sequence %d of %s is there, and was never sent whole", u.sequence, p.user)
		default:
			continue
		}
		require.Equal(t, u.hash, seg.SHA256)
		require.True(t, heardRight(seg.Text, u.hash), "segment %s of hash %s has the text %q", seg.ID, u.hash,
			seg.Text)
		require.Equal(t, u.hash, hashOf(s.audio(t, c, seg.ID)), "byte for byte")
	}
	require.Empty(t, kept, "segments that no phone sent")
	require.Equal(t, strings.Fields(strings.Join(texts, " ")), strings.Fields(lesson.Transcript),
		"the transcript is the texts in order")
	return acknowledged, unacknowledged
}

// complete reads the segments of a lesson that has too many to be read with its session.
func (s *service) complete(t *testing.T, c feedbackclient.Client, lesson *feedbackclient.Lesson) {
	t.Helper()
	if !lesson.Truncated {
		return
	}
	var texts []string
	for g, err := range c.Segments(t.Context(), lesson.ID) {
		require.NoError(t, err)
		texts, lesson.Segments = append(texts, g.Text), append(lesson.Segments, g)
	}
	lesson.Transcript = strings.Join(texts, "\n")
}

// audio fetches a segment's recording.
func (s *service) audio(t *testing.T, c feedbackclient.Client, segment string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Base+"/api/v1/audio-segments/"+segment+
		"/audio", nil)
	require.NoError(t, err)
	req.Header = c.Header
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	audio, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return audio
}

// auditFiles compares rows and files, before and after a sweep.
func (l *load) auditFiles(t *testing.T, s *service) {
	t.Helper()
	rows := s.rows(t)
	files := map[string]bool{}
	for _, key := range s.files(t) {
		files[key] = true
	}
	for key, hash := range rows {
		require.True(t, files[key], "a row without audio: %s", key)
		audio, err := os.ReadFile(filepath.Join(s.audioDir(t), filepath.FromSlash(key)))
		require.NoError(t, err)
		require.Equal(t, hash, hashOf(audio))
	}

	// The sweep skips recent files, which may be uploads in progress. None is, so make all of them
	// old.
	require.NoError(t, s.process.stop(t))
	old := time.Now().Add(-2 * time.Hour)
	for _, key := range s.files(t) {
		require.NoError(t, os.Chtimes(filepath.Join(s.audioDir(t), filepath.FromSlash(key)), old, old))
	}
	s.sweep(t)
	s.start(t)
	var left []string
	eventually(t, "the sweep leaves exactly the files that rows name", func() bool {
		left = s.files(t)
		return len(left) == len(rows)
	})
	for _, key := range left {
		require.Contains(t, rows, key, "audio without a row")
	}
}

// sweep makes the hourly job that deletes audio without a row due at the next start.
func (s *service) sweep(t *testing.T) {
	t.Helper()
	db, err := opendb.Open(t.Context(), s.value("DATABASE_URL"))
	require.NoError(t, err)
	defer db.Close()
	jobs := admin.NewClient(sqlitequeue.New(db.W, db.R, sqlitequeue.Config{}))
	if db.Pool != nil {
		jobs = admin.NewClient(pgqueue.New(db.Pool, pgqueue.Config{}))
	}
	require.NoError(t, jobs.RunSchedule(t.Context(), "sweep"))
}

// rows are the hashes of all segments by their audio's key.
func (s *service) rows(t *testing.T) map[string]string {
	t.Helper()
	db, err := opendb.Open(t.Context(), s.value("DATABASE_URL"))
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.R.QueryContext(t.Context(), "select audio_key, sha256, state from feedback_segments")
	require.NoError(t, err)
	defer rows.Close()
	hashes := map[string]string{}
	for rows.Next() {
		var key, hash, state string
		require.NoError(t, rows.Scan(&key, &hash, &state))
		require.Contains(t, []string{"transcribed", "failed"}, state)
		hashes[key] = hash
	}
	require.NoError(t, rows.Err())

	if !s.shared() {
		var verdict string
		require.NoError(t, db.R.QueryRowContext(t.Context(), "pragma integrity_check").Scan(&verdict))
		require.Equal(t, "ok", verdict)
	}
	var jobs int
	eventually(t, "no job is left", func() bool {
		require.NoError(t, db.R.QueryRowContext(t.Context(), "select count(*) from jobqueue_job").Scan(&jobs))
		return jobs == 0
	})
	const succeeded = `select count(*), count(distinct cast(args as text))
		from jobqueue_done where kind = $1 and state = 4`
	var segments int
	require.NoError(t, db.R.QueryRowContext(t.Context(), succeeded, string(feedback.TaskTranscribe)).Scan(&jobs,
		&segments))
	require.Equal(t, []int{len(hashes), len(hashes)}, []int{jobs, segments}, "jobs that succeeded, and their segments")
	return hashes
}

// files lists everything in the audio directory.
func (s *service) files(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.audioDir(t), "*", "*"))
	require.NoError(t, err)
	for i, path := range paths {
		key, err := filepath.Rel(s.audioDir(t), path)
		require.NoError(t, err)
		paths[i] = filepath.ToSlash(key)
	}
	return paths
}

func (s *service) audioDir(t *testing.T) string {
	t.Helper()
	if s.bucketDir != "" {
		return s.bucketDir
	}
	return s.value("AUDIO_STORAGE_DIR")
}

// value returns a variable of the service's environment.
func (s *service) value(name string) string {
	for _, v := range slices.Backward(s.env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	panic(name + " is not set for the service")
}
