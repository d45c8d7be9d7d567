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
)

// start runs the program and returns its address.
func start(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	logged, stderr := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-addr", "127.0.0.1:0"}, func(string) string { return "" }, io.Discard, stderr)
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
func TestCrossOriginRequestsAreRefused(t *testing.T) {
	t.Parallel()
	address := start(t)
	for name, test := range map[string]struct {
		header, value string
		refused       bool
	}{
		"browser on another page":   {"Sec-Fetch-Site", "cross-site", true},
		"older browser":             {"Origin", "http://elsewhere.example", true},
		"browser on our own page":   {"Sec-Fetch-Site", "same-origin", false},
		"program, not in a browser": {"User-Agent", "curl", false},
	} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		require.NoError(t, form.WriteField("size", "1:1"))
		require.NoError(t, form.Close())
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/v1/images/edits", &body)
		require.NoError(t, err)
		req.Header.Set("Content-Type", form.FormDataContentType())
		req.Header.Set(test.header, test.value)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, test.refused, resp.StatusCode == http.StatusForbidden, name)
	}
}
