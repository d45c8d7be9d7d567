package readme

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/examples/feedback-server/server"
)

// The commands by hand, against the service and a fake of whisper.cpp's server.
func TestServiceByHand(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	var script string
	for _, block := range blocks(t, "sh") {
		if strings.HasPrefix(block, "api=") {
			script = block
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dir := t.TempDir()
	config, err := server.ParseConfig(map[string]string{
		"DATABASE_URL":                  "sqlite:" + filepath.Join(dir, "book.db"),
		"AUDIO_STORAGE_DIR":             filepath.Join(dir, "audio"),
		"ALLOW_DEVELOPMENT_USER_HEADER": "true",
		"LOCAL_ASR_URL":                 asrtest.NewServer(t, asrtest.WhisperCPP).URL,
	})
	require.NoError(t, err)
	require.NoError(t, server.Migrate(t.Context(), config, slog.New(slog.DiscardHandler)))
	srv, err := server.New(t.Context(), config, server.Options{Role: server.RoleAll})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, srv.Close())
	})

	// The last line reads the session: repeat it until the text is there.
	look := strings.TrimSpace(script[strings.LastIndex(strings.TrimSpace(script), "\n"):])
	script = strings.ReplaceAll(script, "127.0.0.1:8080", l.Addr().String()) +
		"\nuntil " + strings.Split(look, " #")[0] + " | grep 'heard\\|\"failed\"'; do sleep 0.1; done\n"
	limited, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(limited, "sh", "-eu", "-c", script)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	audio, err := os.ReadFile(filepath.Join(root, "examples/internal/demo/speech/lesson1-segment0.mp3"))
	require.NoError(t, err)
	require.Contains(t, string(out), asrtest.Heard(audio))
	require.NotContains(t, string(out), `"status":4`)
}
