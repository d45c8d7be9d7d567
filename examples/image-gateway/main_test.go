package main

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/imagegen"
)

// start runs the program with further arguments, and returns its address.
func start(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	logged, stderr := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		args := append([]string{"-addr", "127.0.0.1:0"}, args...)
		ended <- run(ctx, args, func(name string) string { return env[name] }, io.Discard, stderr)
		stderr.Close()
	}()
	lines := bufio.NewReader(logged)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	found := regexp.MustCompile(`address=(http://\S+)`).FindStringSubmatch(line)
	require.NotNil(t, found, line)
	return found[1]
}

// The tasks of a gateway without -data end with it. Their names are not those of another one's.
func TestTasksOfAGatewayThatEndedAreNotFound(t *testing.T) {
	t.Parallel()
	submit := func() (*imagegen.Client, string) {
		client := clientOf(t, start(t, nil, "-mode", "async", "-edge", "32"))
		sent, err := client.Submit(t.Context(), &imagegen.Request{Prompt: "a red fox"}, imagegen.Memory())
		require.NoError(t, err)
		return client, sent.TaskID
	}
	_, first := submit()
	client, second := submit()
	_, err := client.Wait(t.Context(), second, imagegen.Memory())
	require.NoError(t, err)
	_, err = client.Wait(t.Context(), first, imagegen.Memory())
	require.ErrorContains(t, err, "task_not_found")
}

func TestOpenAIClient(t *testing.T) {
	t.Parallel()
	address := start(t, map[string]string{"IMAGE_GATEWAY_KEYS": "alice:s3cret"}, "-mode", "sync",
		"-edge", "240", "-per-minute", "6000")
	env := []string{"GATEWAY=" + address, "KEY=s3cret"}
	require.Equal(t, "done\n", nodetest.Run(t, "testdata/openai", env, "images.mjs"))
}
