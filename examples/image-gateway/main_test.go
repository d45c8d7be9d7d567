package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/examples/internal/program"
)

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
