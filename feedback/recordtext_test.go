package feedback_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func (e *env) recordText(record feedback.Record, markdown bool) string {
	e.t.Helper()
	_, parts, err := e.RecordText(e.t.Context(), e.teacher, record.ID, markdown)
	require.NoError(e.t, err)
	var text strings.Builder
	for part, err := range parts {
		require.NoError(e.t, err)
		text.WriteString(part)
	}
	return text.String()
}

func TestRecordsAreTakenAlongWithTheirTranscripts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p, err := e.CreateProfile(t.Context(), e.teacher, feedback.ProfileInput{Name: "Ming *the* #1"})
	require.NoError(t, err)
	session, _, err := e.OpenSession(t.Context(), e.teacher, feedback.SessionInput{ProfileID: p.ID})
	require.NoError(t, err)
	alone, _, err := e.CreateRecord(t.Context(), e.teacher, feedback.RecordInput{ProfileID: p.ID, Date: "2026-05-31",
		Content: "课上很专心。\r\n# 作业_一_\n\n- 第3页\n1. 第4页"})
	require.NoError(t, err)
	require.Equal(t, "Ming *the* #1，2026年5月31日\n\n课上很专心。\n# 作业_一_\n\n- 第3页\n1. 第4页\n",
		e.recordText(alone, false))
	require.Equal(t, "# Ming \\*the\\* #1，2026年5月31日\n\n课上很专心。  \n\\# 作业\\_一\\_  \n\n"+
		"\\- 第3页  \n1\\. 第4页  \n", e.recordText(alone, true))

	first, err := e.StartLesson(t.Context(), e.teacher, session.ID)
	require.NoError(t, err)
	mended := e.say(first, "Today Shivon painted.")
	e.say(first, "She <b>mixed</b> greens.")
	_, err = e.EditSegment(t.Context(), e.teacher, mended.ID,
		feedback.SegmentEdit{Text: new("Today Siobhan painted.")})
	require.NoError(t, err)
	_, err = e.FinishLesson(t.Context(), e.teacher, first.ID)
	require.NoError(t, err)
	_, err = e.StartLesson(t.Context(), e.teacher, session.ID)
	require.NoError(t, err)
	whole := e.record(first, "Well done.")
	e.take() // the words to learn
	require.Equal(t, "Ming *the* #1, 31 May 2026\n\nWell done.\n\nLesson 1, 31 May 2026\n\n"+
		"Today Siobhan painted.\nShe <b>mixed</b> greens.\n", e.recordText(whole, false))
	require.Equal(t, "# Ming \\*the\\* #1, 31 May 2026\n\nWell done.  \n\n## Lesson 1, 31 May 2026\n\n"+
		"Today Siobhan painted.  \nShe \\<b\\>mixed\\</b\\> greens.  \n", e.recordText(whole, true))

	session, _, err = e.OpenSession(t.Context(), e.teacher, feedback.SessionInput{ProfileID: p.ID})
	require.NoError(t, err)
	first, err = e.StartLesson(t.Context(), e.teacher, session.ID)
	require.NoError(t, err)
	for range 5 { // beyond what is read with a session
		e.say(first, strings.Repeat("word ", feedback.MaxPageText/15))
	}
	whole = e.record(first, "Well done.")
	long := e.recordText(whole, true)
	require.Equal(t, 5*(feedback.MaxPageText/15), strings.Count(long, "word"))
	require.Equal(t, 1, strings.Count(long, "## "))

	_, _, err = e.RecordText(t.Context(), uuid.New(), whole.ID, false)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, parts, err := e.RecordText(ctx, e.teacher, whole.ID, false)
	require.NoError(t, err)
	for _, err = range parts {
		cancel()
	}
	require.ErrorIs(t, err, context.Canceled, "a document that ends early says so")
}
