package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/feedback/feedbackclient"
)

// TestWordsReachTheRecogniser, in the form of a prompt, and not the log.
func TestWordsReachTheRecogniser(t *testing.T) {
	t.Parallel()
	recogniser := asrtest.NewServer(t, asrtest.WhisperCPP)
	c, log := logged(t, recogniser.URL)
	_, err := c.SaveDefaults(t.Context(), feedbackclient.Defaults{Grade: "3", Subject: "Watercolour",
		LessonDurationMinutes: 60, Language: "en-GB"})
	require.NoError(t, err)
	_, err = c.SaveWords(t.Context(), []string{"Siobhan", "小明"})
	require.NoError(t, err)
	waitState(t, c, uploadSegment(t, c).ID, "transcribed")

	var fields map[string]string
	for _, r := range recogniser.Requests() {
		if r.Fields["prompt"] != "" {
			fields = r.Fields
		}
	}
	require.Equal(t, "These are notes about a lesson, with commas and full stops. "+
		"It mentions Someone, Watercolour, Siobhan, 小明.", fields["prompt"])
	require.Equal(t, "en", fields["language"])
	for _, private := range []string{"Someone", "Watercolour", "Siobhan", "小明"} {
		require.Empty(t, log.grep(private), private)
	}
}
