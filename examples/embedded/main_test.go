package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/command"
	"lessonkit.example/feedback/feedbackclient"
)

func TestARecordingBecomesAFeedbackRecord(t *testing.T) {
	t.Parallel()
	if _, err := command.New(command.PocketSphinx()); err != nil {
		require.ErrorContains(t, err, "missing for speech recognition")
		t.Skip(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener, t.TempDir()) }()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
	}()

	url := "http://" + listener.Addr().String()
	body := strings.NewReader(`{"name":"from the page of another site"}`)
	page, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/profiles", body)
	require.NoError(t, err)
	page.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := http.DefaultClient.Do(page)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusForbidden, resp.StatusCode)

	c := feedbackclient.Development(url, "")
	profile, err := c.EnsureProfile(ctx, "Ming")
	require.NoError(t, err)
	session, err := c.OpenSession(ctx, profile.ID)
	require.NoError(t, err)
	lesson, err := c.StartLesson(ctx, session.ID)
	require.NoError(t, err)
	speech, err := os.ReadFile("../internal/demo/speech/lesson1-segment1.mp3")
	require.NoError(t, err)
	_, err = c.Upload(ctx, lesson.ID, 0, "lesson.mp3", speech)
	require.NoError(t, err)
	lesson, err = c.FinishLesson(ctx, lesson.ID)
	require.NoError(t, err)

	require.Eventually(t, func() bool {
		session, err = c.Session(ctx, session.ID)
		return err == nil && session.Lessons[0].Transcript != ""
	}, time.Minute, 50*time.Millisecond)
	generated, err := c.Generate(ctx, session.ID, []string{lesson.ID})
	require.NoError(t, err)
	record, err := c.SaveRecord(ctx, profile.ID, session.ID, "2026-05-31", generated.Text)
	require.NoError(t, err)
	require.Contains(t, strings.ToLower(record.Content), "she finished the picture with great care")
}
