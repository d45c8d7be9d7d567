//go:build linux

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// Without a recogniser the demo keeps the audio; with one, it continues with the same data
// directory.
func TestDemoWithoutRecogniserKeepsTheAudio(t *testing.T) {
	slow(t)
	data, empty := t.TempDir(), t.TempDir()
	p := start(t, "feedback-server", []string{"HTTP_ADDR=127.0.0.1:0", "PATH=" + empty}, "demo", "-once", "-data",
		data)
	<-p.done
	require.Error(t, p.err)
	require.Contains(t, p.log.String(), "stored and queued")
	require.Contains(t, p.log.String(), "pocketsphinx", "names what is missing")
	kept, err := filepath.Glob(filepath.Join(data, "audio", "*", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, kept)

	needSpeech(t)
	p = start(t, "feedback-server", []string{"HTTP_ADDR=127.0.0.1:0"}, "demo", "-once", "-data", data)
	<-p.done
	require.NoError(t, p.err, p.log)
}

// The demo prints the address of the teacher's page last and opens it in the browser of a desktop.
// The page has the demo's student, with the record.
func TestDemoEndsWithTheAddressOfThePage(t *testing.T) {
	slow(t)
	needSpeech(t)
	bin := t.TempDir()
	opened := filepath.Join(bin, "opened")
	script := "#!/bin/sh\nprintf %s \"$1\" >'" + opened + "'\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700))
	environment := []string{"HTTP_ADDR=127.0.0.1:0", "DISPLAY=:0", "PATH=" + bin + ":" + os.Getenv("PATH")}
	p := start(t, "feedback-server", environment, "demo", "-data", t.TempDir())
	const title = "The teacher's page: "
	// Its speech is recognised beside all other tests.
	within(t, 10*time.Minute, "the demo prints the address", func() bool {
		return strings.Contains(p.log.String(), title)
	})
	lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
	page, found := strings.CutPrefix(lines[len(lines)-1], title)
	require.True(t, found, p.log)
	eventually(t, "the browser opens", func() bool {
		address, _ := os.ReadFile(opened)
		return string(address) == page
	})

	url, student, found := strings.Cut(page, "/#sign-in=demo/student/")
	require.True(t, found, page)
	response, err := http.Get(url + "/")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	c := feedbackclient.Development(url, "demo")
	profile, err := c.Profile(t.Context(), student)
	require.NoError(t, err)
	require.Equal(t, "Sample student", profile.Name)
	for record, err := range c.Records(t.Context(), student) {
		require.NoError(t, err)
		for _, said := range []string{"she finished the picture with great care",
			"we learned how to mix blue and yellow"} {
			require.Contains(t, strings.ToLower(record.Content), said)
		}
		return
	}
	t.Fatal("the student has no record")
}
