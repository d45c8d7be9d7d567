package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/examples/internal/program"
	"lessonkit.example/imagegen"
)

// The tasks of a gateway without -data end with it. Their names are not those of another one's.
func TestTasksOfAGatewayThatEndedAreNotFound(t *testing.T) {
	t.Parallel()
	submit := func() (*imagegen.Client, string) {
		address, _ := startProcess(t, "", "-mode", "async", "-edge", "32")
		client := clientOf(t, address)
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

func TestWrongFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		"-workers=0", "-workers=-1", "-per-minute=0", "-per-minute=NaN", "-storage-mb=-1",
		"-storage-mb=18446744073709",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // if it is accepted, the program stops at once
		args := []string{"-addr", "127.0.0.1:0", wrong}
		err := run(ctx, args, func(string) string { return "" }, io.Discard, io.Discard)
		require.ErrorAs(t, err, new(program.Usage), wrong)
	}
}

func TestOpenAIClient(t *testing.T) {
	t.Parallel()
	address, _ := startProcess(t, "alice:s3cret", "-mode", "sync", "-edge", "240", "-per-minute", "6000")
	env := []string{"GATEWAY=" + address, "KEY=s3cret"}
	require.Equal(t, "done\n", nodetest.Run(t, "testdata/openai", env, "images.mjs"))
}
