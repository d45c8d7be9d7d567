//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Formats that few recognisers decode are converted, and refused by a server that does not convert.
func TestFormatsThatAreConverted(t *testing.T) {
	slow(t)
	addr := freePort(t)
	startSpeech(t, addr)
	formats := map[string][]string{
		"mov": {"-c:a", "aac", "-b:a", "128k"}, "mka": {"-c:a", "flac"}, "caf": {"-c:a", "alac"}, "aiff": nil,
	}
	files := map[string][]byte{}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in.mp3"), sample(t, "lesson1-segment1"), 0o600))
	for name, options := range formats {
		file := filepath.Join(dir, "out."+name)
		arguments := append([]string{"-v", "error", "-nostdin", "-i", filepath.Join(dir, "in.mp3")}, options...)
		out, err := exec.CommandContext(t.Context(), "ffmpeg", append(arguments, file)...).CombinedOutput()
		require.NoError(t, err, string(out))
		files[name], err = os.ReadFile(file)
		require.NoError(t, err)
	}

	s := newService(t, "sqlite:"+t.TempDir()+"/lessonkit.db", "http://"+addr)
	s.start(t)
	_, session, lesson := s.openLesson(t)
	for name, audio := range files {
		_, err := s.client.Upload(t.Context(), lesson.ID, 0, "a.mp3", audio)
		require.ErrorContains(t, err, "m4a", name)
		require.ErrorContains(t, err, "415", name)
	}
	require.NoError(t, s.process.stop(t))

	s.start(t, "LOCAL_ASR_CONVERT=true")
	sequence := 0
	for name, audio := range files {
		_, err := s.client.Upload(t.Context(), lesson.ID, sequence, "a.mp3", audio)
		require.NoError(t, err, name)
		sequence++
	}
	eventually(t, "all have text", func() bool {
		return count(s.lesson(t, session.ID).Segments, "transcribed") == len(files)
	})
	for _, seg := range s.lesson(t, session.ID).Segments {
		require.Equal(t, "She finished the picture with great care.", strings.TrimSpace(seg.Text), seg.ContentType)
	}
}
