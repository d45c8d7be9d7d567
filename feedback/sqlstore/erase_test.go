package sqlstore_test

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func teacherErased(t *testing.T, f *fixture) {
	var record uuid.UUID
	fill := func() (feedback.Profile, feedback.Segment) {
		p := f.profile("Ming")
		record = f.record(p).ID
		require.NoError(t, f.Store.SaveDefaults(t.Context(), f.teacher,
			feedback.Defaults{Grade: "3", Subject: "Art", LessonDurationMinutes: 90}, f.tick()))
		require.NoError(t, f.Store.SaveWords(t.Context(), f.teacher, []string{"clay"}, f.tick()))
		return p, f.segment(f.lesson(f.session(p)), 0)
	}
	other := f.teacher
	kept, keptSegment := fill()
	f.teacher = uuid.New()
	first, firstSegment := fill()
	second, secondSegment := fill()
	f.Tasks(t)

	again := f.tick().Add(time.Hour)
	want := []feedback.Task{
		{Kind: feedback.TaskDeleteAudio, AudioKey: firstSegment.AudioKey},
		{Kind: feedback.TaskDeleteAudio, AudioKey: secondSegment.AudioKey},
		{Kind: feedback.TaskEraseTeacher, TeacherID: f.teacher, Turn: again},
	}
	f.FailOutbox(errOutbox)
	require.ErrorIs(t, f.Store.EraseTeacher(t.Context(), f.teacher, again), errOutbox)
	f.get(firstSegment)
	_, err := f.Store.Record(t.Context(), f.teacher, record)
	require.NoError(t, err, "nothing is deleted without a task")
	f.FailOutbox(nil)
	require.NoError(t, f.Store.EraseTeacher(t.Context(), f.teacher, again))
	require.ElementsMatch(t, want, f.Tasks(t))
	for _, p := range []feedback.Profile{first, second} {
		_, err := f.Store.Profile(t.Context(), f.teacher, p.ID)
		require.ErrorIs(t, err, feedback.ErrNotFound)
	}
	_, err = f.Store.Defaults(t.Context(), f.teacher)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	require.Empty(t, f.words())
	require.Zero(t, f.usage(f.now))

	late := f.profile("stored by a request in progress")
	require.NoError(t, f.Store.EraseTeacher(t.Context(), f.teacher, time.Time{}))
	_, err = f.Store.Profile(t.Context(), f.teacher, late.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	require.Empty(t, f.Tasks(t), "not repeated")

	f.teacher = other
	f.get(keptSegment)
	_, err = f.Store.Profile(t.Context(), other, kept.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"clay"}, f.words())
}

// A student leaves at once, a record with the next sweep.
func TestWhatIsDeletedLeavesTheFiles(t *testing.T) {
	t.Parallel()
	f := openSQLite(t)
	var path string
	require.NoError(t, f.db.QueryRow("select file from pragma_database_list").Scan(&path))
	holds := func(text string) bool {
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		log, err := os.ReadFile(path + "-wal")
		require.NoError(t, err)
		return bytes.Contains(append(file, log...), []byte(text))
	}
	p, record := f.profile("forgettable"), f.record(f.profile("Ming"))
	require.True(t, holds(p.Name) && holds(record.Content))
	require.NoError(t, f.Store.DeleteProfile(t.Context(), f.teacher, p.ID))
	require.False(t, holds(p.Name))
	require.NoError(t, f.Store.DeleteRecord(t.Context(), f.teacher, record.ID))
	require.NoError(t, f.Store.DeleteIdempotencyKeys(t.Context(), f.now))
	require.False(t, holds(record.Content))
}

// transcribed returns a segment with a text.
func (f *fixture) transcribed(l feedback.Lesson, sequence int, text string) feedback.Segment {
	f.t.Helper()
	g := f.begin(f.segment(l, sequence), "token")
	return f.end(g, "token",
		feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: text, Attempts: 1})
}

func audioExpired(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	var transcribed []feedback.Segment
	for i := range 3 {
		transcribed = append(transcribed, f.transcribed(l, i, "heard"))
	}
	waiting := f.segment(l, 3)
	f.Tasks(t)
	expire := func(before time.Time, limit int) (n int) {
		expired, err := f.Store.ExpireAudio(t.Context(), before, limit, f.tick())
		require.NoError(t, err)
		return len(expired)
	}
	_, revision, err := f.Store.Changes(t.Context(), f.teacher, l.SessionID, 0)
	require.NoError(t, err)
	deletion := func(i int) feedback.Task {
		return feedback.Task{Kind: feedback.TaskDeleteAudio, AudioKey: transcribed[i].AudioKey}
	}
	require.Zero(t, expire(transcribed[0].TranscribedAt, 10), "not before its time")
	require.Equal(t, 1, expire(transcribed[2].TranscribedAt, 1), "the oldest first")
	require.Equal(t, []feedback.Task{deletion(0)}, f.Tasks(t))
	f.FailOutbox(errOutbox)
	_, err = f.Store.ExpireAudio(t.Context(), f.tick(), 10, f.tick())
	require.ErrorIs(t, err, errOutbox)
	f.FailOutbox(nil)
	require.Equal(t, 2, expire(f.tick(), 10), "each once, and those that failed again")
	require.ElementsMatch(t, []feedback.Task{deletion(1), deletion(2)}, f.Tasks(t))
	require.Zero(t, expire(f.tick(), 10))

	used, err := f.Store.AudioInUse(t.Context(), []string{transcribed[0].AudioKey, waiting.AudioKey})
	require.NoError(t, err)
	require.Equal(t, []string{waiting.AudioKey}, used, "a sweep deletes what a task has not")
	seg := f.get(transcribed[0])
	require.Equal(t, "heard", seg.Text)
	require.True(t, seg.AudioDeletedAt.After(seg.TranscribedAt), seg.AudioDeletedAt)
	require.Zero(t, f.get(waiting).AudioDeletedAt)

	events, _, err := f.Store.Changes(t.Context(), f.teacher, l.SessionID, revision)
	require.NoError(t, err)
	require.Len(t, events, 3, "clients learn that the audio is gone")
	for i, e := range events {
		require.Equal(t, transcribed[i].ID, e.Segment.ID)
		require.NotZero(t, e.Segment.AudioDeletedAt)
		require.Greater(t, e.Revision, revision)
		revision = e.Revision
	}
	require.NoError(t, f.Store.DeleteProfile(t.Context(), f.teacher, f.whole(l.SessionID).ProfileID))
	require.Equal(t, []feedback.Task{{Kind: feedback.TaskDeleteAudio, AudioKey: waiting.AudioKey}}, f.Tasks(t))
}

// audioExpiredConcurrently: each recording gets one task, whoever expires it.
func audioExpiredConcurrently(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	for i := range 20 {
		f.transcribed(l, i, "heard")
	}
	f.Tasks(t)
	expired := make([][]feedback.Segment, 4)
	for _, err := range concurrently(len(expired), func(i int) (err error) {
		expired[i], err = f.Store.ExpireAudio(t.Context(), f.tick(), 100, f.tick())
		return err
	}) {
		require.NoError(t, err)
	}
	require.Len(t, slices.Concat(expired...), 20)
	keys := map[string]bool{}
	for _, task := range f.Tasks(t) {
		require.Equal(t, feedback.TaskDeleteAudio, task.Kind)
		require.False(t, keys[task.AudioKey], "deleted twice")
		keys[task.AudioKey] = true
	}
	require.Len(t, keys, 20)
}
