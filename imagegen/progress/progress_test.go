package progress_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/progress"
)

func events() []imagegen.Event {
	return []imagegen.Event{
		{Kind: imagegen.EventAttempt, Attempt: 1},
		{Kind: imagegen.EventRetry, Attempt: 1, Wait: 1234 * time.Millisecond, Err: errors.New("cut")},
		{Kind: imagegen.EventTask, TaskID: "t-1"},
		{Kind: imagegen.EventPoll, State: "pending", Polls: 1},
		{Kind: imagegen.EventPoll, State: "processing", Polls: 2},
		{Kind: imagegen.EventPoll, State: "processing", Polls: 3},
		{Kind: imagegen.EventPoll, Err: errors.New("bad gateway")},
		{Kind: imagegen.EventPoll, Err: errors.New("bad gateway")},
		{Kind: imagegen.EventPoll, Err: errors.New("refused")},
		{Kind: imagegen.EventPoll, State: "processing", Polls: 4},
		{Kind: imagegen.EventPoll, Err: errors.New("refused")},
		{Kind: imagegen.EventPoll},
		{Kind: imagegen.EventProgress, Image: &imagegen.Info{}, Bytes: 2_500_000},
		{Kind: imagegen.EventImage, Image: &imagegen.Info{Type: "image/png", Width: 4, Height: 3, Size: 1500,
			Path: "a.png"}},
	}
}

func TestPlainLinesReportEachChangeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := progress.New(&out, false)
		l.Start()
		time.Sleep(12 * time.Second)
		for _, e := range events() {
			l.OnEvent(e)
		}
		l.Close()
		require.Equal(t, `waiting for the service (12s)
attempt 1 failed, trying again in 1.2s: cut
task t-1
pending (12s)
processing (12s)
poll failed, trying again: bad gateway
poll failed, trying again: refused
processing (12s)
poll failed, trying again: refused
unknown (12s)
image 1: 4x3, png, 1.5 kB → a.png
`, out.String())
	})
}

func TestTerminalLineIsRewrittenAndCleared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := progress.New(&out, true)
		l.Start()
		l.OnEvent(imagegen.Event{Kind: imagegen.EventAttempt})
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		l.OnEvent(imagegen.Event{Kind: imagegen.EventProgress, Image: &imagegen.Info{}, Bytes: 2_500_000})
		l.Close()
		text := out.String()
		require.Contains(t, text, "\rwaiting for the service (2s)")
		require.Contains(t, text, "image 1: 2.5 MB (2s)")
		require.True(t, strings.HasSuffix(text, " \r"))
		require.NotContains(t, text, "\n")
	})
}

func Example() {
	line := progress.New(os.Stderr, true)
	line.Start()
	defer line.Close()
	_, _ = imagegen.New(imagegen.Config{BaseURL: "http://127.0.0.1:8085", OnEvent: line.OnEvent})
}
