package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// TestMain runs the program instead of the tests in the processes that startProcess starts.
func TestMain(m *testing.M) {
	if os.Getenv("IMAGE_GATEWAY_TEST_PROCESS") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// startProcess runs the program in a process of its own, and returns its address and a function
// that kills it. If it is not killed, it must end by itself when it is interrupted. Its files may
// have 16 MiB, as if the disk were full then.
func startProcess(t *testing.T, keys string, args ...string) (address string, kill func()) {
	t.Helper()
	limited := []string{"-c", `trap "" XFSZ; ulimit -f 32768; exec "$0" "$@"`, os.Args[0], "-addr", "127.0.0.1:0"}
	p := exec.Command("sh", append(limited, args...)...)
	p.Env = append(os.Environ(), "IMAGE_GATEWAY_TEST_PROCESS=1", "IMAGE_API_KEY="+imagegentest.APIKey,
		"IMAGE_GATEWAY_KEYS="+keys, "IMAGE_GATEWAY_SECRET=secret")
	stderr, err := p.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	kill = func() { _ = p.Process.Kill(); _ = p.Wait() }
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Signal(os.Interrupt)
			require.NoError(t, p.Wait())
		}
	})
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	_, address, ok := strings.Cut(strings.TrimSpace(line), "address=")
	require.True(t, ok, line)
	return address, kill
}

func clientOf(t *testing.T, address string) *imagegen.Client {
	t.Helper()
	client, err := imagegen.New(imagegen.Config{BaseURL: address, FirstPoll: -1})
	require.NoError(t, err)
	return client
}

// saved returns what the job of a task has saved.
func saved(t *testing.T, dir, task string) string {
	t.Helper()
	queue, err := sqlitequeue.Open(filepath.Join(dir, "tasks.db"), sqlitequeue.Config{})
	require.NoError(t, err)
	defer queue.Close()
	number, _, _ := strings.Cut(task, "-")
	id, err := strconv.ParseInt(number, 10, 64)
	require.NoError(t, err)
	job, err := jobqueue.NewClient(queue).Get(t.Context(), id)
	require.NoError(t, err)
	return string(job.Saved)
}

// Processes are killed while they wait for a paid task, or send a request; no prompt is sent twice.
func TestTasksSurviveKill(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode  imagegentest.Mode
		step  imagegentest.Step
		saved string // when the process is killed
		fails string
	}{
		"while the service performs its task": {imagegentest.Async, imagegentest.OK(), `"upstream":"task-`, ""},
		"while the request is being sent": {imagegentest.Sync, imagegentest.Slow(time.Hour), `"started":true`,
			"a restart interrupted the generation; it may have been charged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			service := imagegentest.New(t, imagegentest.Options{Mode: test.mode, Duration: time.Millisecond})
			service.Script(test.step)
			dir := t.TempDir()
			args := []string{"-mode", "async", "-data", dir, "-upstream", service.Listen()}
			address, kill := startProcess(t, "", args...)
			reference := imagegen.Bytes("a.png", []byte("\x89PNG\r\n\x1a\n"))
			request := &imagegen.Request{Prompt: "a red fox", References: []imagegen.Reference{reference}}
			sent, err := clientOf(t, address).Submit(ctx, request, imagegen.Memory())
			require.NoError(t, err)
			require.NotEmpty(t, sent.TaskID)
			require.Eventually(t, func() bool {
				return service.Counts().Generations == 1 && strings.Contains(saved(t, dir, sent.TaskID), test.saved)
			}, time.Minute, 10*time.Millisecond)
			kill()

			address, _ = startProcess(t, "", args...)
			images := imagegen.Memory()
			_, err = clientOf(t, address).Wait(ctx, sent.TaskID, images)
			if test.fails == "" {
				require.NoError(t, err)
				require.NotEmpty(t, images.Get(0))
			} else {
				require.ErrorContains(t, err, test.fails)
			}
			require.Equal(t, 1, service.Counts().Generations)
		})
	}
}

// A drawing costs nothing: it is made again.
func TestDrawingsAreRepeatedAfterKill(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	address, kill := startProcess(t, "", "-mode", "async", "-data", dir, "-edge", "32", "-delay", "1h")
	request := &imagegen.Request{Prompt: "a red fox"}
	sent, err := clientOf(t, address).Submit(ctx, request, imagegen.Memory())
	require.NoError(t, err)
	kill()
	address, _ = startProcess(t, "", "-data", dir, "-edge", "32")
	images := imagegen.Memory()
	_, err = clientOf(t, address).Wait(ctx, sent.TaskID, images)
	require.NoError(t, err)
	require.NotEmpty(t, images.Get(0))
}

// When the disk has not taken an image, no other one is paid for that it would not take either.
func TestImagesThatTheDiskDoesNotTakeArePaidOnce(t *testing.T) {
	t.Parallel()
	service := imagegentest.New(t, imagegentest.Options{Image: func(imagegentest.Post, int) []byte {
		return append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 17<<20)...)
	}})
	address, _ := startProcess(t, "", "-mode", "sync", "-upstream", service.Listen())
	for _, says := range []string{"storage_full", "unavailable", "unavailable"} {
		_, err := clientOf(t, address).Generate(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "could not store the images")
	}
	require.Equal(t, 1, service.Counts().Generations)
}

// A caller finds the result of its request by the key, after a crash, too.
func TestIdempotencyKeySurvivesKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	post := func(address, prompt string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/v1/images/generations",
			strings.NewReader(`{"prompt":"`+prompt+`"}`))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "k")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(body)
	}
	address, kill := startProcess(t, "", "-data", dir, "-edge", "32")
	image := post(address, "a red fox")
	require.Contains(t, image, "b64_json")
	require.Equal(t, image, post(address, "a red fox"))
	require.NotEqual(t, image, post(address, "a blue fox"))
	kill()
	address, _ = startProcess(t, "", "-data", dir, "-edge", "32")
	require.Equal(t, image, post(address, "a red fox"))
}
