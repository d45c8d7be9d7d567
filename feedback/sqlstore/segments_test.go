package sqlstore_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func segmentsRepeated(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	session, err := f.Store.LessonSession(t.Context(), f.teacher, l.ID)
	require.NoError(t, err)
	require.Equal(t, l.SessionID, session)
	n := f.newSegment(l, 7, "a")
	first, created, err := f.Store.InsertSegment(t.Context(), n, false)
	require.NoError(t, err)
	require.True(t, created)
	n.Revision = first.Revision
	require.Equal(t, n, first)
	require.Equal(t, first, f.get(n))

	again, created, err := f.Store.InsertSegment(t.Context(), f.newSegment(l, 7, "a"), false)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first, again, "the same sequence and audio")
	_, _, err = f.Store.InsertSegment(t.Context(), f.newSegment(l, 7, "b"), false)
	require.ErrorIs(t, err, feedback.ErrSequenceTaken)
	again, created, err = f.Store.InsertSegment(t.Context(), f.newSegment(l, 0, "a"), true)
	require.NoError(t, err)
	require.False(t, created, "no sequence, the same audio in the lesson")
	require.Equal(t, first, again)
	_, created, err = f.Store.InsertSegment(t.Context(), f.newSegment(l, 8, "a"), false)
	require.NoError(t, err)
	require.True(t, created, "the same audio under another sequence, on purpose")
	_, _, err = f.Store.InsertSegment(t.Context(), f.newSegment(feedback.Lesson{ID: newID(), SessionID: l.SessionID},
		0, "a"), true)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	require.Len(t, f.Tasks(t), 2)

	// A client that sends twice concurrently.
	other := f.lessonOf("Li")
	ids := make([]uuid.UUID, 8)
	for _, err := range concurrently(8, func(i int) error {
		s, _, err := f.Store.InsertSegment(t.Context(), f.newSegment(other, 0, "a"), false)
		ids[i] = s.ID
		return err
	}) {
		require.NoError(t, err)
	}
	require.Len(t, slices.Compact(ids), 1)
	require.Len(t, f.Tasks(t), 1)
}

func segmentsNumbers(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	sequences := make([]int, 8)
	for _, err := range concurrently(8, func(i int) error {
		s, _, err := f.Store.InsertSegment(t.Context(), f.newSegment(l, 0, fmt.Sprint("sha", i)), true)
		sequences[i] = s.Sequence
		return err
	}) {
		require.NoError(t, err)
	}
	slices.Sort(sequences)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, sequences)
	f.segment(l, feedback.MaxSequence)
	_, _, err := f.Store.InsertSegment(t.Context(), f.newSegment(l, 0, "after the greatest"), true)
	require.Equal(t, "sequence", field(t, err))
}

// The order of the turns is the order in which a queue starts the tasks.
func segmentsTurns(t *testing.T, f *fixture) {
	turns := map[uuid.UUID]time.Time{}
	add := func(l feedback.Lesson, sequence int) uuid.UUID {
		g := f.segment(l, sequence)
		turns[g.ID] = f.Tasks(t)[0].Turn
		require.Less(t, turns[g.ID], g.CreatedAt.Add(-time.Second))
		return g.ID
	}
	var many []uuid.UUID
	long := f.lessonOf("Ming")
	for i := range 20 {
		many = append(many, add(long, i))
	}
	f.teacher = uuid.New()
	short := f.lessonOf("Li")
	one, two := add(short, 0), add(short, 1)
	order := slices.SortedFunc(maps.Keys(turns), func(a, b uuid.UUID) int { return turns[a].Compare(turns[b]) })
	require.Equal(t, append([]uuid.UUID{many[0], one, many[1], two}, many[2:]...), order)

	// When the first is finished, the next one still comes after the second, which waits.
	g := f.begin(feedback.Segment{ID: one}, "a")
	f.end(g, "a", feedback.TranscriptionResult{State: feedback.SegmentFailed, Attempts: 1})
	third := add(short, 2)
	require.Greater(t, turns[third], turns[two])
	require.Less(t, turns[third], turns[many[2]])
	_, err := f.Store.RetrySegment(t.Context(), f.teacher, one, "", f.tick())
	require.NoError(t, err)
	require.Greater(t, f.Tasks(t)[0].Turn, turns[third])

	// Whoever has waited for a day comes before all that arrive later.
	f.mu.Lock()
	f.now = f.now.Add(25 * time.Hour)
	f.mu.Unlock()
	f.teacher = uuid.New()
	late := add(f.lessonOf("Wang"), 0)
	require.Greater(t, turns[late], turns[many[19]])
}

// segmentsUnfinished has the store for itself: the list is of all teachers.
func segmentsUnfinished(t *testing.T, f *fixture) {
	list := func(limit int) []feedback.UnfinishedSegment {
		got, err := f.Store.Unfinished(t.Context(), limit)
		require.NoError(t, err)
		return got
	}
	require.Empty(t, list(10))
	of := func(g feedback.Segment, state feedback.SegmentState) feedback.UnfinishedSegment {
		return feedback.UnfinishedSegment{ID: g.ID, State: state, Duration: g.Duration}
	}
	mine := f.lessonOf("Ming")
	first, second, third := f.segment(mine, 0), f.segment(mine, 1), f.segment(mine, 2)
	f.teacher = uuid.New()
	other := f.segment(f.lessonOf("Li"), 0)
	const queued, transcribing = feedback.SegmentQueued, feedback.SegmentTranscribing
	require.Equal(t, []feedback.UnfinishedSegment{of(first, queued), of(other, queued), of(second, queued),
		of(third, queued)}, list(10))
	require.Equal(t, []feedback.UnfinishedSegment{of(first, queued), of(other, queued)}, list(2))

	f.begin(third, "a")
	require.Equal(t, []feedback.UnfinishedSegment{of(third, transcribing), of(first, queued), of(other, queued),
		of(second, queued)}, list(10), "those that have started come first")
	f.end(third, "a", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Attempts: 1})
	f.begin(first, "b")
	f.end(first, "b", feedback.TranscriptionResult{State: feedback.SegmentFailed, Attempts: 1})
	require.Equal(t, []feedback.UnfinishedSegment{of(other, queued), of(second, queued)}, list(10))
}

// segmentsTranscriptionTimes has the store for itself: the list is of all teachers.
func segmentsTranscriptionTimes(t *testing.T, f *fixture) {
	last := func(limit int) []feedback.TranscriptionTime {
		got, err := f.Store.LastTranscriptions(t.Context(), limit)
		require.NoError(t, err)
		return got
	}
	require.Empty(t, last(10))
	transcribe := func(sequence int, r feedback.TranscriptionResult) feedback.TranscriptionTime {
		g := f.segment(f.lessonOf(strconv.Itoa(sequence)), 0)
		f.begin(g, "a")
		g = f.end(g, "a", r)
		return feedback.TranscriptionTime{Ended: g.TranscribedAt, Took: r.Took, Audio: g.Duration}
	}
	const transcribed = feedback.SegmentTranscribed
	first := transcribe(1, feedback.TranscriptionResult{
		State: transcribed, Duration: time.Minute, Took: 5 * time.Second})
	f.teacher = uuid.New()
	second := transcribe(2, feedback.TranscriptionResult{
		State: transcribed, Duration: time.Second, Took: time.Second})
	quick := transcribe(3, feedback.TranscriptionResult{State: transcribed, Duration: time.Second})
	quick.Took = time.Millisecond
	transcribe(4, feedback.TranscriptionResult{State: feedback.SegmentFailed, Took: time.Hour})
	require.Equal(t, []feedback.TranscriptionTime{quick, second, first}, last(10), "the last one first")
	require.Equal(t, []feedback.TranscriptionTime{quick, second}, last(2))
}

// round takes the only task from the outbox, which must be of g, and returns its round.
func (f *fixture) round(g feedback.Segment) int64 {
	f.t.Helper()
	tasks := f.Tasks(f.t)
	require.Len(f.t, tasks, 1)
	require.Equal(f.t, feedback.Task{Kind: feedback.TaskTranscribe, SegmentID: g.ID, Round: tasks[0].Round,
		TeacherID: f.teacher, Turn: tasks[0].Turn}, tasks[0])
	return tasks[0].Round
}

// anyRound is not before any round.
const anyRound = math.MaxInt64

func (f *fixture) begin(g feedback.Segment, token string) feedback.Segment {
	f.t.Helper()
	g, err := f.Store.StartTranscription(f.t.Context(), g.ID, anyRound, token, 1, f.tick())
	require.NoError(f.t, err)
	return g
}

func (f *fixture) end(g feedback.Segment, token string, o feedback.TranscriptionResult) feedback.Segment {
	f.t.Helper()
	g, err := f.Store.FinishTranscription(f.t.Context(), g.ID, token, o, f.tick())
	require.NoError(f.t, err)
	return g
}

func segmentsRetry(t *testing.T, f *fixture) {
	g := f.segment(f.lessonOf("Ming"), 0)
	round := f.round(g)
	retry := func() (feedback.Segment, error) {
		return f.Store.RetrySegment(t.Context(), f.teacher, g.ID, "", f.tick())
	}
	_, err := retry()
	require.ErrorIs(t, err, feedback.ErrInProgress, "queued")
	f.begin(g, "one")
	_, err = retry()
	require.ErrorIs(t, err, feedback.ErrInProgress, "transcribing")
	failed := f.end(g, "one", feedback.TranscriptionResult{State: feedback.SegmentFailed, Error: "damaged",
		ErrorCode: "audio_unusable", Attempts: 1})
	require.Equal(t, "damaged", failed.Error)
	require.Equal(t, "audio_unusable", failed.ErrorCode)

	f.FailOutbox(errOutbox)
	_, err = retry()
	require.ErrorIs(t, err, errOutbox)
	f.FailOutbox(nil)
	require.Equal(t, feedback.SegmentFailed, f.get(g).State)

	got, err := retry()
	require.NoError(t, err)
	require.Equal(t, feedback.SegmentQueued, got.State)
	require.Empty(t, got.Error)
	require.Empty(t, got.ErrorCode)
	require.Zero(t, got.Attempts)
	require.Greater(t, got.Revision, failed.Revision)
	require.Greater(t, f.round(g), round)
	_, err = f.Store.RetrySegment(t.Context(), f.teacher, newID(), "", f.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)
}

// segmentsAgain: a transcribed segment is transcribed again, and fails, in every way.
func segmentsAgain(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	g := f.segment(l, 0)
	round := f.round(g)
	f.begin(g, "one")
	first := f.end(g, "one", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "雨",
		Details: `{"header_ms":1}`, Attempts: 1})
	retry := func(language string) feedback.Segment {
		t.Helper()
		again, err := f.Store.RetrySegment(t.Context(), f.teacher, g.ID, language, f.tick())
		require.NoError(t, err)
		require.Equal(t, []any{feedback.SegmentQueued, "雨", first.Details, first.TranscribedAt, language},
			[]any{again.State, again.Text, again.Details, again.TranscribedAt, again.RetryLanguage})
		round = f.round(g)
		l, err = f.Store.Lesson(t.Context(), f.teacher, l.ID)
		require.NoError(t, err)
		require.Equal(t, "雨", l.Transcript())
		return again
	}
	start := func(token string) {
		t.Helper()
		_, err := f.Store.StartTranscription(t.Context(), g.ID, round, token, 1, f.tick())
		require.NoError(t, err)
	}
	kept := func(got feedback.Segment, code string) {
		t.Helper()
		require.Equal(t, []any{feedback.SegmentTranscribed, "雨", first.Details, first.TranscribedAt, code},
			[]any{got.State, got.Text, got.Details, got.TranscribedAt, got.ErrorCode})
	}
	failed := feedback.TranscriptionResult{State: feedback.SegmentFailed, Error: "damaged",
		ErrorCode: "audio_unusable"}

	retry("en")
	start("two")
	require.NoError(t, f.Store.SaveRecognizerTask(t.Context(), g.ID, "two", "english", f.tick()))
	kept(f.end(g, "two", failed), "audio_unusable")
	start("the queue's retry")
	kept(f.end(g, "the queue's retry", failed), "audio_unusable")
	require.Equal(t, "english", retry("en").RecognizerTask, "it is in the same language")
	start("three")
	f.end(g, "three", failed)
	require.Empty(t, retry("").RecognizerTask, "a task in another language is of no use")
	got, err := f.Store.FailTranscription(t.Context(), g.ID, round, "code", "given up", true, f.tick())
	require.NoError(t, err)
	kept(got, "code")
	retry("")
	start("four")
	require.Equal(t, "雨", f.end(g, "four", feedback.TranscriptionResult{State: feedback.SegmentQueued}).Text)
	start("five")
	done := f.end(g, "five", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "rain"})
	require.Equal(t, []string{"rain", "", ""}, []string{done.Text, done.Details, done.Error})
	require.True(t, done.TranscribedAt.After(first.TranscribedAt))
	_, err = f.Store.StartTranscription(t.Context(), g.ID, round, "six", 1, f.tick())
	require.NoError(t, err)
	_, err = f.Store.FinishTranscription(t.Context(), g.ID, "six", failed, f.tick())
	require.ErrorIs(t, err, feedback.ErrSuperseded, "it was finished")

	// Audio expires unless it is about to be heard again.
	expire := func() []feedback.Segment {
		expired, err := f.Store.ExpireAudio(t.Context(), f.tick(), 10, f.tick())
		require.NoError(t, err)
		return expired
	}
	again := func() error { return errorOf(f.Store.RetrySegment(t.Context(), f.teacher, g.ID, "", f.tick())) }
	require.NoError(t, again())
	require.Empty(t, expire())
	f.begin(g, "seven")
	f.end(g, "seven", failed)
	require.Len(t, expire(), 1)
	require.ErrorIs(t, again(), feedback.ErrAudioDeleted)
	_, err = f.Store.RetryLesson(t.Context(), f.teacher, l.ID, "", f.tick())
	require.ErrorIs(t, err, feedback.ErrAudioDeleted)
}

func lessonRetried(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	segments := make([]feedback.Segment, 40)
	for i := range segments {
		segments[i] = f.segment(l, i)
		if i < 38 {
			f.begin(segments[i], "one")
			state := []feedback.SegmentState{feedback.SegmentTranscribed, feedback.SegmentFailed}[i%2]
			f.end(segments[i], "one", feedback.TranscriptionResult{State: state, Text: "a", Error: "b"[:i%2]})
		}
	}
	f.begin(segments[38], "busy")
	f.Tasks(t)
	before, used := f.whole(l.SessionID), f.usage(f.now)
	f.FailOutbox(errOutbox)
	_, err := f.Store.RetryLesson(t.Context(), f.teacher, l.ID, "en", f.tick())
	require.ErrorIs(t, err, errOutbox)
	f.FailOutbox(nil)
	require.Equal(t, before, f.whole(l.SessionID), "all or nothing")

	got, err := f.Store.RetryLesson(t.Context(), f.teacher, l.ID, "en", f.tick())
	require.NoError(t, err)
	require.Equal(t, feedback.SegmentCounts{Total: 40, Queued: 39, Transcribing: 1}, got.Counts)
	tasks := f.Tasks(t)
	require.Len(t, tasks, 38)
	rounds := map[uuid.UUID]int64{}
	for _, task := range tasks {
		rounds[task.SegmentID] = task.Round
	}
	revisions := map[int64]bool{}
	events, revision, err := f.Store.Changes(t.Context(), f.teacher, l.SessionID, before.Revision)
	require.NoError(t, err)
	for _, e := range events {
		revisions[e.Revision] = true
		require.Equal(t, e.Revision, rounds[e.Segment.ID])
	}
	require.Len(t, revisions, 38, "each has a revision of its own")
	require.GreaterOrEqual(t, revision, events[37].Revision)
	require.Equal(t, used.Segments+38, f.usage(f.now).Segments)

	again, err := f.Store.RetryLesson(t.Context(), f.teacher, l.ID, "en", f.tick())
	require.NoError(t, err, "a repeated request")
	require.Equal(t, got.Segments, again.Segments)
	require.Empty(t, f.Tasks(t))
	for i, g := range segments[:38] {
		g, err = f.Store.StartTranscription(t.Context(), g.ID, rounds[g.ID], "again", 1, f.tick())
		require.NoError(t, err, i)
		require.Equal(t, "en", g.RetryLanguage)
	}
	_, err = f.Store.RetryLesson(t.Context(), newID(), l.ID, "", f.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)
}

func segmentsEdited(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	g := f.segment(l, 0)
	edit := func(text *string, versions ...int64) (feedback.Segment, error) {
		e := feedback.SegmentEdit{Text: text, IfVersion: versions}
		return f.Store.EditSegment(t.Context(), f.teacher, g.ID, e, f.tick())
	}
	before := f.usage(f.now)
	mended := "我们画了雨。"
	edited, err := edit(&mended, g.Version)
	require.NoError(t, err, "before it is transcribed")
	require.Greater(t, edited.Revision, g.Revision)
	for _, stale := range [][]int64{{g.Version}, {9}, {}} {
		_, err = edit(&mended, stale...)
		require.ErrorIs(t, err, feedback.ErrStale)
	}
	f.begin(g, "one")
	done := f.end(g, "one", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "雨", Attempts: 1})
	require.Equal(t, []string{"雨", mended}, []string{done.Text, *done.EditedText})
	l, err = f.Store.Lesson(t.Context(), f.teacher, l.ID)
	require.NoError(t, err)
	require.Equal(t, mended, l.Transcript())
	require.Equal(t, []feedback.Segment{done}, l.Segments)
	require.EqualValues(t, len(mended), f.usage(f.now).TextBytes-before.TextBytes)

	empty := ""
	got, err := edit(&empty, 7, done.Version)
	require.NoError(t, err)
	require.Equal(t, &empty, got.EditedText, "nothing that belongs to the lesson was said")
	got, err = edit(nil)
	require.NoError(t, err)
	require.Nil(t, got.EditedText)
	require.Equal(t, done.Version+2, got.Version)
	_, err = f.Store.EditSegment(t.Context(), newID(), g.ID, feedback.SegmentEdit{Text: &empty}, f.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)
	require.Equal(t, got, f.get(g))
	wins := 0 // of devices that edit at once
	for _, err := range concurrently(4, func(int) error { return errorOf(edit(&mended, got.Version)) }) {
		if err == nil {
			wins++
		} else {
			require.ErrorIs(t, err, feedback.ErrStale)
		}
	}
	require.Equal(t, 1, wins)
}
