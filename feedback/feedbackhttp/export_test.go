package feedbackhttp_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/feedbacktest"
)

// export returns the files of an export.
func (e *env) export() map[string]string {
	e.t.Helper()
	a := e.do("GET", "/export", nil).want(200)
	require.Equal(e.t, `attachment; filename="lessons.zip"`, a.Header().Get("Content-Disposition"))
	z, err := zip.NewReader(bytes.NewReader(a.Body.Bytes()), int64(a.Body.Len()))
	require.NoError(e.t, err)
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(e.t, err)
		content, err := io.ReadAll(r)
		require.NoError(e.t, err)
		require.NotContains(e.t, files, f.Name)
		files[f.Name] = string(content)
		if strings.HasSuffix(f.Name, ".mp3") {
			require.Equal(e.t, zip.Store, f.Method, "audio is compressed already")
		}
	}
	return files
}

// array parses an array of the export and checks that each item has a line.
func array(t *testing.T, text string) (items []object) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &items), text)
	if len(items) > 0 {
		require.Equal(t, len(items)+2, strings.Count(text, "\n"))
	}
	return items
}

func names(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }

func TestExportContainsEverything(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	require.Equal(t, []string{"README.txt", "feedback_records.json", "profile_defaults.json", "students.json",
		"words.json"}, names(e.export()), "of a teacher who has nothing")

	ming := e.profile("Ming/../\\..")
	first := e.session(ming)
	lesson := e.lesson(first)
	e.upload(lesson, recording("a"), part{name: "sequence", value: "0"}).want(202)
	e.upload(lesson, recording("b"), part{name: "sequence", value: "7"}).want(202)
	require.NoError(t, e.work())
	e.do("POST", "/feedback-lessons/"+lesson+"/finish", nil).want(200)
	e.upload(e.lesson(first), recording("c")).want(202)
	record := e.do("POST", "/feedback-records", object{"profile_id": ming, "feedback_date": "2026-05-31",
		"content": "Well done.", "feedback_session_id": first}).want(201)
	second := e.session(ming)
	e.do("PUT", "/words", object{"words": []string{"clay"}}).want(200)
	e.do("PUT", "/profile-defaults", object{"grade": "4", "subject": "Clay", "lesson_duration_minutes": 50}).
		want(200)
	other := &env{t: t, handler: e.handler, teacher: uuid.New()}
	other.session(other.profile("another teacher's"))

	files := e.export()
	const folder = "sessions/2026-05-31-Ming_______"
	require.Equal(t, []string{"README.txt", "feedback_records.json", "profile_defaults.json",
		folder + " (2)/recordings.json", folder + " (2)/session.json",
		folder + "/2026-05-31-Ming_______-1-001.mp3", folder + "/2026-05-31-Ming_______-1-008.mp3",
		folder + "/2026-05-31-Ming_______-2-001.mp3", folder + "/recordings.json", folder + "/session.json",
		"students.json", "words.json"}, names(files))
	require.Contains(t, files["README.txt"], "audio_file is the name of a recording")
	require.Equal(t, string(feedbacktest.MP3("b")), files[folder+"/2026-05-31-Ming_______-1-008.mp3"])
	require.JSONEq(t, e.do("GET", "/words", nil).Body.String(), files["words.json"])
	require.JSONEq(t, e.do("GET", "/profile-defaults", nil).Body.String(), files["profile_defaults.json"])
	students := array(t, files["students.json"])
	require.Len(t, students, 1)
	require.Equal(t, e.do("GET", "/profiles", nil).json["items"], []any{students[0]})
	require.Equal(t, []object{record.json}, array(t, files["feedback_records.json"]))

	recordings := array(t, files[folder+"/recordings.json"])
	require.Len(t, recordings, 3)
	for i, want := range [][]any{
		{1.0, "2026-05-31-Ming_______-1-001.mp3", "Said a."},
		{1.0, "2026-05-31-Ming_______-1-008.mp3", "Said b."},
		{2.0, "2026-05-31-Ming_______-2-001.mp3", ""},
	} {
		r := recordings[i]
		require.Equal(t, want, []any{r["lesson_number"], r["audio_file"], r["text"]})
		require.Nil(t, r["audio_deleted_at"])
		read := e.do("GET", "/audio-segments/"+r["segment_id"].(string), nil).want(200)
		require.Subset(t, r, read.json, "all fields of the interface")
	}
	require.Empty(t, array(t, files[folder+" (2)/recordings.json"]))
	for name, id := range map[string]string{folder: first, folder + " (2)": second} {
		name += "/session.json"
		want := e.do("GET", "/feedback-sessions/"+id, nil).want(200)
		var got object
		require.NoError(t, json.Unmarshal([]byte(files[name]), &got))
		require.Len(t, got["lessons"], len(want.json["lessons"].([]any)))
		for _, field := range []string{"session_id", "state", "feedback_text", "generated_text", "feedback_date"} {
			require.Equal(t, want.json[field], got[field], field)
		}
	}
}

func TestExportSaysWhichAudioIsMissing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	lesson := e.lesson(e.session(e.profile("Ming")))
	for _, marker := range []string{"a", "b", "c"} {
		e.upload(lesson, recording(marker)).want(202)
		if marker == "a" {
			require.NoError(t, e.work())
			e.now.Add(time.Second)
			require.NoError(t, e.svc.ExpireAudio(t.Context(), 0))
		}
	}
	for _, file := range e.files() {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if bytes.HasSuffix(content, []byte("b")) {
			require.NoError(t, os.Remove(file))
		}
	}
	files := e.export()
	recordings := array(t, files["sessions/2026-05-31-Ming/recordings.json"])
	require.Len(t, recordings, 3)
	require.Equal(t, "Said a.", recordings[0]["text"], "stays")
	require.NotNil(t, recordings[0]["audio_deleted_at"], "because of its age")
	require.Nil(t, recordings[0]["audio_file"])
	require.Nil(t, recordings[1]["audio_deleted_at"])
	require.Nil(t, recordings[1]["audio_file"], "not found")
	require.Equal(t, "2026-05-31-Ming-1-003.mp3", recordings[2]["audio_file"])
	audio := 0
	for name := range files {
		if strings.HasSuffix(name, ".mp3") {
			audio++
		}
	}
	require.Equal(t, 1, audio)
}

// hooked calls a function whenever audio is opened.
type hooked struct {
	feedback.AudioStore
	open func(n int, f feedback.AudioFile) feedback.AudioFile
	n    int
}

func (s *hooked) Open(ctx context.Context, key string) (feedback.AudioFile, error) {
	f, err := s.AudioStore.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	s.n++
	return s.open(s.n, f), nil
}

// withRecordings uploads recordings of a lesson and then hooks their store.
func (e *env) withRecordings(
	n int, open func(n int, f feedback.AudioFile) feedback.AudioFile, log io.Writer,
) (lesson string) {
	e.t.Helper()
	lesson = e.lesson(e.session(e.profile("Ming")))
	for i := range n {
		e.upload(lesson, recording(strings.Repeat(fmt.Sprint(i), 100_000))).want(202)
	}
	e.serve(func(c *feedback.Config, h *feedbackhttp.Config) {
		c.Audio = &hooked{AudioStore: c.Audio, open: open}
		h.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	return lesson
}

// brokenFile fails in the middle, or ends there.
type brokenFile struct {
	feedback.AudioFile
	r io.Reader
}

func (f brokenFile) Read(p []byte) (int, error) { return f.r.Read(p) }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errOrdinary }

func TestABrokenExportDoesNotLookComplete(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]io.Reader{
		"a read fails": failing{}, "a recording is cut": strings.NewReader(""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			var log bytes.Buffer
			e.withRecordings(3, func(n int, f feedback.AudioFile) feedback.AudioFile {
				if n < 2 {
					return f
				}
				return brokenFile{f, io.MultiReader(io.LimitReader(f, 50_000), rest)}
			}, &log)
			server := httptest.NewServer(e.handler)
			defer server.Close()
			c := feedbackclient.Client{Base: server.URL, Header: http.Header{"X-Teacher": {e.teacher.String()}}}
			body, err := c.Export(t.Context())
			require.NoError(t, err, "the answer has begun")
			defer body.Close()
			got, err := io.ReadAll(body)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the connection is cut")
			require.Greater(t, len(got), 100_000, "the first recording is there")
			_, err = zip.NewReader(bytes.NewReader(got), int64(len(got)))
			require.ErrorIs(t, err, zip.ErrFormat)
			server.Close() // waits for the request
			require.Contains(t, log.String(), "export: ")
			require.NotContains(t, log.String(), "goroutine", "is no fault of the program")
		})
	}
}

func TestAnExportEndsWithTheSession(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	lesson := e.lesson(e.session(e.profile("Ming")))
	e.upload(lesson, recording("a")).want(202)
	e.upload(lesson, recording("b")).want(202)
	opened := 0
	e.serve(func(c *feedback.Config, h *feedbackhttp.Config) {
		c.Audio = &hooked{AudioStore: c.Audio, open: func(_ int, f feedback.AudioFile) feedback.AudioFile {
			opened++
			return f
		}}
		h.Authenticate = func(ctx context.Context, header http.Header) (uuid.UUID, error) {
			if opened > 0 {
				return uuid.Nil, errOrdinary
			}
			return teacherOf(ctx, header)
		}
	})
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { e.do("GET", "/export", nil) }, "the connection is cut")
	require.Equal(t, 1, opened)
}

func TestAnExportOfTextsEndsWithTheSession(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct {
		err    error
		leaves bool
		logged string
	}{
		"signed out":          {err: errOrdinary, logged: "the teacher has signed out"},
		"another teacher":     {logged: "the teacher has signed out"},
		"the client has left": {err: errOrdinary, leaves: true, logged: "context canceled"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			e.session(e.profile("Ming"))
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			asked := 0
			var log bytes.Buffer
			e.serve(func(_ *feedback.Config, h *feedbackhttp.Config) {
				h.Logger = slog.New(slog.NewTextHandler(&log, nil))
				h.Authenticate = func(ctx context.Context, header http.Header) (uuid.UUID, error) {
					if asked++; asked < 2 {
						return teacherOf(ctx, header)
					}
					if c.leaves {
						leave()
					}
					return uuid.New(), c.err
				}
			})
			r := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/export", nil)
			require.PanicsWithValue(t, http.ErrAbortHandler, func() { e.send(r) }, "the connection is cut")
			require.Equal(t, 2, asked)
			require.Contains(t, log.String(), c.logged)
		})
	}
}

func TestExportWhileDataChanges(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var lesson string
	lesson = e.withRecordings(3, func(n int, f feedback.AudioFile) feedback.AudioFile {
		if n == 2 { // the third one is deleted, one is added before and one after
			_, err := e.db.Exec(`delete from feedback_segments where sequence = 2`)
			require.NoError(t, err)
			e.upload(lesson, recording("new"), part{name: "sequence", value: "9"}).want(202)
		}
		return f
	}, io.Discard)
	files := e.export()
	listed := map[string]bool{}
	for _, r := range array(t, files["sessions/2026-05-31-Ming/recordings.json"]) {
		listed["sessions/2026-05-31-Ming/"+r["audio_file"].(string)] = true
	}
	for name := range files {
		if strings.HasSuffix(name, ".mp3") {
			require.True(t, listed[name], name)
		}
	}
	for name := range listed {
		require.Contains(t, files, name)
	}
	require.Len(t, listed, 2)
}

func TestATeacherHasOneExportAtOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	other := uuid.NewString()
	e.withRecordings(1, func(_ int, f feedback.AudioFile) feedback.AudioFile {
		e.do("GET", "/export", nil).want(429, "too_many_requests")
		e.do("GET", "/export", nil, "X-Teacher", other).want(200)
		e.do("GET", "/profiles", nil).want(200)
		return f
	}, io.Discard)
	e.export()
	e.export()
	head := e.do("HEAD", "/export", nil).want(200)
	require.Zero(t, head.Body.Len())
	require.NoError(t, e.store.Close())
	require.GreaterOrEqual(t, e.do("GET", "/export", nil).Code, 500, "before the answer begins")
}
