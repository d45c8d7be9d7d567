package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/nodetest"
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

// Any web page may post a form, and here it needs no API key either.
func TestWebPagesAreKeptOut(t *testing.T) {
	t.Parallel()
	address := start(t, nil)
	for name, test := range map[string]struct {
		header, value string
		refused       bool
	}{
		"browser on another page":   {"Sec-Fetch-Site", "cross-site", true},
		"older browser":             {"Origin", "http://elsewhere.example", true},
		"browser on our own page":   {"Sec-Fetch-Site", "same-origin", false},
		"program, not in a browser": {"User-Agent", "curl", false},
		"name of another site":      {"Host", "elsewhere.example", true},
	} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		require.NoError(t, form.WriteField("size", "1:1"))
		require.NoError(t, form.Close())
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/v1/images/edits", &body)
		require.NoError(t, err)
		req.Header.Set("Content-Type", form.FormDataContentType())
		req.Header.Set(test.header, test.value)
		req.Host = req.Header.Get("Host")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, test.refused, resp.StatusCode == http.StatusForbidden, name)
	}
}

func TestOpenAIClient(t *testing.T) {
	t.Parallel()
	address := start(t, map[string]string{"IMAGE_GATEWAY_KEYS": "alice:s3cret"}, "-mode", "sync",
		"-edge", "240", "-per-minute", "6000")
	env := []string{"GATEWAY=" + address, "KEY=s3cret"}
	require.Equal(t, "done\n", nodetest.Run(t, "testdata/openai", env, "images.mjs"))
}
