//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
)

// ahead builds the server with a time package whose clock is an hour fast.
var ahead = sync.OnceValue(func() error {
	dir, err := programs()
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	before, now, found := strings.Cut(string(source), "\nfunc Now() Time {")
	const read = "sec, nsec, mono := runtimeNow()\n"
	if !found || !strings.Contains(now, read) {
		return fmt.Errorf("%s does not read the clock as expected", original)
	}
	changed := before + "\nfunc Now() Time {" + strings.Replace(now, read, read+"\tsec += 3600\n", 1)
	replacement, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(replacement, []byte(changed), 0o600); err != nil {
		return err
	}
	plan, err := json.Marshal(map[string]any{"Replace": map[string]string{original: replacement}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, plan, 0o600); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", filepath.Join(dir, aheadServer),
		"lessonkit.example/examples/feedback-server")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
})

const aheadServer = "feedback-server-ahead"

// The clock of one of two servers, and of its worker, is an hour fast. It is restarted often,
// because each start deletes unreferenced audio.
func TestClockAnHourOff(t *testing.T) {
	if *faults != "full" {
		t.Skip("rebuilds the standard library")
	}
	if *audio == "bucket" {
		t.Skip("S3 refuses requests whose time is wrong by more than 15 minutes")
	}
	slow(t)
	require.NoError(t, ahead())
	rec := newRecogniser(t)
	s := newService(t, pgtest.URL(t), rec.url())
	s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4")
	s.start(t)
	fast := s.beside(t)
	fast.program = aheadServer
	fast.start(t)
	l := startLoad(t, 8, 30*time.Millisecond, s, fast)
	const starts = 25
	swept := 0
	for range starts {
		time.Sleep(soon())
		require.NoError(t, fast.process.stop(t))
		swept += strings.Count(fast.process.log.String(), "deleted audio")
		first := regexp.MustCompile(`^time=(\S+)`).FindStringSubmatch(fast.process.log.String())
		require.Len(t, first, 2)
		at, err := time.Parse(time.RFC3339, first[1])
		require.NoError(t, err)
		require.Greater(t, time.Until(at), 30*time.Minute, "the clock is fast")
		fast.start(t)
	}
	l.Stop()
	sum(t, "one of two clocks an hour fast, started %d times, deleted %d files", starts, swept)
	audit(t, l, s, rec)
}
