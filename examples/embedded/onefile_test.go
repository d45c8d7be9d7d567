package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// TestOneFileHoldsLessonsAndJobs: a recording and its job are committed together or not at all.
func TestOneFileHoldsLessonsAndJobs(t *testing.T) {
	t.Parallel()
	queue, err := sqlitequeue.Open(filepath.Join(t.TempDir(), "lessons.db"), sqlitequeue.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, queue.Close()) })
	write, read := queue.DB()
	var fail error
	outbox := func(ctx context.Context, tx *sql.Tx, task feedback.Task) error {
		_, err := queue.EnqueueTx(ctx, tx, jobqueue.Params{Kind: string(task.Kind), Args: task})
		return errors.Join(err, fail)
	}
	store := sqlstore.NewSQLite(write, read, outbox)
	ctx := t.Context()
	require.NoError(t, errors.Join(queue.Migrate(ctx), store.Migrate(ctx)))
	audio, err := audiodir.New(t.TempDir())
	require.NoError(t, err)
	service, err := feedback.New(feedback.Config{Store: store, Audio: audio})
	require.NoError(t, err)
	teacher := uuid.New()
	profile, err := service.CreateProfile(ctx, teacher, feedback.ProfileInput{Name: "Ming"})
	require.NoError(t, err)
	session, _, err := service.OpenSession(ctx, teacher, feedback.SessionInput{ProfileID: profile.ID})
	require.NoError(t, err)
	lesson, err := service.StartLesson(ctx, teacher, session.ID)
	require.NoError(t, err)
	upload := func(audio io.Reader) error {
		_, _, err := service.AddSegment(ctx, teacher, lesson.ID, audio, feedback.SegmentInput{})
		return err
	}
	count := func(table string) (n int) {
		require.NoError(t, read.QueryRowContext(ctx, "select count(*) from "+table).Scan(&n))
		return n
	}

	fail = errors.New("after the job was enqueued")
	require.ErrorIs(t, upload(strings.NewReader("#!AMR\n1")), fail)
	require.Zero(t, count("feedback_segments"))
	require.Zero(t, count("jobqueue_job"))

	fail = nil
	for i := range 20 {
		require.NoError(t, upload(strings.NewReader("#!AMR\n"+strings.Repeat("2", i+1))))
	}
	require.Equal(t, 20, count("feedback_segments"))
	require.Equal(t, 20, count("jobqueue_job"))
	require.NoError(t, service.DeleteProfile(ctx, teacher, profile.ID))
	require.Zero(t, count("feedback_segments"))
	require.Equal(t, 40, count("jobqueue_job"), "and a job for each recording to delete")
}
