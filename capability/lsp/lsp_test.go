package lsp

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
)

// slow is a workspace whose checks wait.
type slow struct {
	checks  atomic.Int32
	started chan string // the text that a check has of the file
	goOn    chan struct{}
}

func (w *slow) Check(file string, open map[string]string, _ bool) (capability.Diagnostics, *capability.Manifests,
	error) {
	w.checks.Add(1)
	w.started <- open[file]
	<-w.goOn
	return nil, capability.CoreManifests(), nil
}

func (w *slow) App(file string) string { return file }

type pipes struct {
	io.Reader
	io.WriteCloser
}

// Edits that arrive while a check runs are checked once, and requests are answered meanwhile.
func TestEditsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	fromEditor, toServer := io.Pipe()
	fromServer, toEditor := io.Pipe()
	w := &slow{started: make(chan string, 100), goOn: make(chan struct{})}
	served := make(chan error, 1)
	go func() {
		served <- Serve(t.Context(), pipes{fromEditor, toEditor}, Options{Workspace: w})
	}()
	editor := jsonrpc2.NewConn(t.Context(),
		jsonrpc2.NewBufferedStream(pipes{fromServer, toServer}, jsonrpc2.VSCodeObjectCodec{}),
		jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
			return nil, nil
		}))
	document := map[string]any{"uri": "file:///a.json", "version": 1, "text": "0"}
	require.NoError(t, editor.Notify(t.Context(), "textDocument/didOpen", map[string]any{"textDocument": document}))
	require.Equal(t, "0", <-w.started)
	for i := 1; i <= 20; i++ {
		require.NoError(t, editor.Notify(t.Context(), "textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": "file:///a.json", "version": i + 1},
			"contentChanges": []any{map[string]any{"text": fmt.Sprint(i)}}}))
	}
	require.NoError(t, editor.Call(t.Context(), "textDocument/hover", map[string]any{"textDocument": document}, nil),
		"it is answered while the check runs")
	w.goOn <- struct{}{}
	require.Equal(t, "20", <-w.started)
	w.goOn <- struct{}{}
	require.NoError(t, editor.Call(t.Context(), "shutdown", nil, nil))
	require.NoError(t, editor.Notify(t.Context(), "exit", nil))
	require.NoError(t, <-served)
	require.EqualValues(t, 2, w.checks.Load())
	_ = editor.Close()
}
