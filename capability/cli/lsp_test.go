package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

type lspPosition struct{ Line, Character int }

type lspRange struct{ Start, End lspPosition }

type lspDiagnostic struct {
	Range              lspRange
	Severity           int
	Code, Message      string
	RelatedInformation []struct{ Message string }
}

type lspEdit struct {
	Range   lspRange
	NewText string
}

// editor drives the language server as an editor does.
type editor struct {
	testing.TB
	*jsonrpc2.Conn
	shown   chan shown
	stopped chan int
	notes   *bytes.Buffer // to be read when it has stopped
}

type shown struct {
	URI         string
	Version     int
	Diagnostics []lspDiagnostic
}

type pipes struct {
	io.Reader
	io.WriteCloser
}

func newEditor(t testing.TB, flags ...string) *editor {
	t.Helper()
	fromEditor, toServer := io.Pipe()
	fromServer, toEditor := io.Pipe()
	e := &editor{TB: t, shown: make(chan shown, 100), stopped: make(chan int, 1), notes: &bytes.Buffer{}}
	go func() {
		e.stopped <- cli.Run(append([]string{"lsp"}, flags...), cli.Env{Stdin: fromEditor, Stdout: toEditor,
			Stderr: e.notes})
	}()
	handler := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
		var s shown
		if r.Method == "textDocument/publishDiagnostics" && json.Unmarshal(*r.Params, &s) == nil {
			e.shown <- s
		}
		return nil, nil
	})
	e.Conn = jsonrpc2.NewConn(t.Context(),
		jsonrpc2.NewBufferedStream(pipes{fromServer, toServer}, jsonrpc2.VSCodeObjectCodec{}), handler)
	t.Cleanup(func() { _ = e.Close() })
	var started struct {
		Capabilities struct{ HoverProvider bool }
		ServerInfo   struct{ Name, Version string }
	}
	e.call("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{}}, &started)
	require.True(t, started.Capabilities.HoverProvider)
	require.NotEmpty(t, started.ServerInfo.Version)
	e.notify("initialized", map[string]any{})
	return e
}

func (e *editor) call(method string, params, result any) {
	e.Helper()
	require.NoError(e, e.Call(e.Context(), method, params, result))
}

func (e *editor) notify(method string, params any) {
	e.Helper()
	require.NoError(e, e.Notify(e.Context(), method, params))
}

// open opens a file and returns what the server shows about it.
func (e *editor) open(file, text string) []lspDiagnostic {
	e.Helper()
	e.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file://" + file,
		"languageId": "json", "version": 1, "text": text}})
	return e.next(file, 1)
}

// change replaces the text.
func (e *editor) change(file string, version int, text string) []lspDiagnostic {
	e.Helper()
	e.edit(file, version, text)
	return e.next(file, version)
}

func (e *editor) edit(file string, version int, text string) {
	e.Helper()
	e.notify("textDocument/didChange", map[string]any{"contentChanges": []any{map[string]any{"text": text}},
		"textDocument": map[string]any{"uri": "file://" + file, "version": version}})
}

// next waits for the findings in a version of a file.
func (e *editor) next(file string, version int) []lspDiagnostic {
	e.Helper()
	for {
		select {
		case s := <-e.shown:
			if s.URI == "file://"+file && s.Version == version {
				return s.Diagnostics
			}
		case <-time.After(time.Minute):
			require.Fail(e, "the server shows nothing")
		}
	}
}

func at(file string, line, character int) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": "file://" + file},
		"position": map[string]any{"line": line, "character": character}}
}

func lspCodes(ds []lspDiagnostic) []string {
	codes := []string{}
	for _, d := range ds {
		codes = append(codes, d.Code)
	}
	return codes
}

func TestEditor(t *testing.T) {
	t.Parallel()
	const first = "{\n  \"identifier\": \"main\",\n  \"windows\": [\"main\"],\n  \"description\": \"😀 字\",\n" +
		"  \"permissions\": [\"core:default\", \"core:window:alow-close\", \"fs:allow-appdata-read\"]\n}\n"
	dir := project(t, map[string]string{"src-tauri/capabilities/main.json": first,
		"src-tauri/capabilities/other.json": strings.Replace(sound, "main", "other", 1),
		"src-tauri/tauri.conf.json":         "{}"})
	file := filepath.Join(dir, "src-tauri/capabilities/main.json")
	e := newEditor(t)
	ds := e.open(file, first)
	require.Equal(t, []string{"unknown-permission"}, lspCodes(ds))
	require.Equal(t, 1, ds[0].Severity)
	require.Equal(t, lspRange{lspPosition{4, 34}, lspPosition{4, 58}}, ds[0].Range)

	// The fix, made as the editor makes it, by UTF-16 positions.
	var actions []struct {
		Title, Kind string
		IsPreferred bool
		Edit        struct{ Changes map[string][]lspEdit }
	}
	e.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": "file://" + file},
		"range": ds[0].Range, "context": map[string]any{"diagnostics": []any{}}}, &actions)
	require.Len(t, actions, 1)
	require.Equal(t, "quickfix", actions[0].Kind)
	require.False(t, actions[0].IsPreferred, "a guess")
	edit := actions[0].Edit.Changes["file://"+file][0]
	require.Equal(t, `"core:window:allow-close"`, edit.NewText)
	require.Equal(t, ds[0].Range, edit.Range)
	require.Empty(t, e.change(file, 2, strings.Replace(first, "alow", "allow", 1)))

	// Places behind characters of two UTF-16 units.
	behind := strings.ReplaceAll(first, "\n", "")
	ds = e.change(file, 3, behind)
	place := lspPosition{0, strings.Index(behind, `"core:window`) - len("😀 字") + 4}
	require.Equal(t, place, ds[0].Range.Start)
	var hovered struct{ Contents struct{ Kind, Value string } }
	e.call("textDocument/hover", at(file, 0, place.Character-2), &hovered)
	require.NotContains(t, hovered.Contents.Value, "core:default")
	e.call("textDocument/hover", at(file, 0, place.Character-4), &hovered)
	require.Contains(t, hovered.Contents.Value, "core:default")
	ds = e.change(file, 5, first)
	require.Equal(t, []string{"unknown-permission"}, lspCodes(ds))

	e.call("textDocument/hover", at(file, 4, 65), &hovered)
	require.Contains(t, hovered.Contents.Value, "fs:allow-appdata-read")
	require.Contains(t, hovered.Contents.Value, "`plugin:fs|read_file`")
	require.Contains(t, hovered.Contents.Value, "$APPDATA")
	var nothing any
	e.call("textDocument/hover", at(file, 1, 20), &nothing)
	require.Nil(t, nothing)

	type item struct {
		Label    string
		TextEdit lspEdit
	}
	var list struct{ Items []item }
	e.call("textDocument/completion", at(file, 4, 40), &list)
	i := slices.IndexFunc(list.Items, func(i item) bool { return i.Label == "core:window:allow-close" })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, lspRange{lspPosition{4, 35}, lspPosition{4, 57}}, list.Items[i].TextEdit.Range)
	// A string that is not closed yet.
	e.change(file, 6, "{\"permissions\": [\"core:def")
	e.call("textDocument/completion", at(file, 0, 26), &list)
	require.Greater(t, len(list.Items), 500)

	// What two files cause is shown in both, and gone with its cause.
	ds = e.change(file, 7, strings.Replace(first, `"main"`, `"other"`, 1))
	require.Contains(t, lspCodes(ds), "unknown-permission")
	other := e.next(filepath.Join(dir, "src-tauri/capabilities/other.json"), 0)
	require.Equal(t, []string{"duplicate-capability"}, lspCodes(other))
	e.change(file, 8, sound)
	require.Empty(t, e.next(filepath.Join(dir, "src-tauri/capabilities/other.json"), 0))

	require.ErrorContains(t, e.Call(t.Context(), "textDocument/rename", at(file, 0, 0), nil), "unknown method")
	require.ErrorContains(t, e.Call(t.Context(), "textDocument/hover", at("/x.json", 0, 0), nil), "is not open")
	e.call("shutdown", nil, nil)
	e.notify("exit", nil)
	require.Equal(t, cli.ExitClean, <-e.stopped)
}

// A check of one application keeps what is shown of another.
func TestEditorHasTwoApplicationsOpen(t *testing.T) {
	t.Parallel()
	dir := twoApplications(t, "")
	a, b := filepath.Join(dir, "a/capabilities/main.json"), filepath.Join(dir, "b/capabilities/main.json")
	e := newEditor(t)
	require.NotEmpty(t, e.open(a, risky))
	e.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file://" + b,
		"languageId": "json", "version": 1, "text": risky}})
	e.edit(b, 2, sound)
	for changed := false; !changed; {
		s := <-e.shown
		changed = s.URI == "file://"+b && s.Version == 2 && len(s.Diagnostics) == 0
		require.False(t, s.URI == "file://"+a && len(s.Diagnostics) == 0, "the findings in %s are gone", a)
	}
}

// Capabilities inside the configuration are checked as they are edited, and so is the list.
func TestEditorShowsConfiguration(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"src-tauri/capabilities/main.json": sound, "src-tauri/tauri.conf.json": "{}"})
	config := filepath.Join(dir, "src-tauri/tauri.conf.json")
	e := newEditor(t)
	require.Empty(t, e.open(config, "{}"))
	ds := e.change(config, 2, `{"app": {"security": {"capabilities": ["main", "mian", `+
		`{"identifier": "x", "windows": ["x"], "permissions": ["core:defalt"]}]}}}`)
	require.Equal(t, []string{"unknown-capability", "unknown-permission"}, lspCodes(ds))

	// The same text is right as soon as the build reads JSON5.
	require.Equal(t, []string{"comment"}, lspCodes(e.change(config, 3, "{ // one\n}")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src-tauri/Cargo.toml"),
		[]byte(`tauri = { features = ["config-json5"] }`), 0o600))
	e.notify("textDocument/didSave", at(config, 0, 0))
	require.Empty(t, e.next(config, 3))
}

// A message that is too large costs the files that are open, not the session.
func TestEditorSendsTooMuch(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"capabilities/main.json": sound, "tauri.conf.json": "{}"})
	file := filepath.Join(dir, "capabilities/main.json")
	e := newEditor(t)
	require.Empty(t, e.open(file, sound))
	e.edit(file, 2, strings.Repeat("a", 9<<20))
	require.Empty(t, e.next(file, 0))
	require.ErrorContains(t, e.Call(t.Context(), "textDocument/hover", at(file, 0, 0), nil), "is not open")
	require.Equal(t, []string{"duplicate-permission"}, lspCodes(e.open(file, fixable)))
}

// The findings about calls are shown at the call, with a fix in the capability's file.
func TestEditorShowsCalls(t *testing.T) {
	t.Parallel()
	dir := calling(t)
	e := newEditor(t)
	e.call("initialize", map[string]any{}, nil)
	file := filepath.Join(dir, "src", "main.ts")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	ds := e.open(file, string(text))
	require.Contains(t, lspCodes(ds), "call-denied")
	denied := ds[slices.Index(lspCodes(ds), "call-denied")]
	require.Equal(t, lspRange{lspPosition{2, 7}, lspPosition{2, 34}}, denied.Range)
	var actions []struct {
		Title string
		Edit  struct{ Changes map[string][]lspEdit }
	}
	e.call("textDocument/codeAction", map[string]any{"textDocument": at(file, 0, 0)["textDocument"],
		"range": lspRange{lspPosition{2, 8}, lspPosition{2, 8}}}, &actions)
	require.Len(t, actions, 1)
	require.Equal(t, "Add fs:allow-write-text-file", actions[0].Title)
	for uri, edits := range actions[0].Edit.Changes {
		require.True(t, strings.HasSuffix(uri, "/src-tauri/capabilities/main.json"), uri)
		end := lspPosition{3, 56}
		require.Equal(t, []lspEdit{{lspRange{end, end}, `, "fs:allow-write-text-file"`}}, edits)
	}

	// While the file is edited the editor moves what is shown: the places are in the saved text.
	e.edit(file, 2, "// a comment\n"+string(text))
	other := filepath.Join(dir, "src", "z.ts")
	e.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file://" + other,
		"languageId": "ts", "version": 1, "text": ""}})
	for s := (shown{}); s.URI != "file://"+other; s = <-e.shown {
		require.False(t, s.URI == "file://"+file && s.Version == 2, "%v", s.Diagnostics)
	}
	require.Equal(t, ds, e.change(file, 3, string(text)))
}

// An editor opens all scripts, JSON and TOML files, which are no capability files elsewhere.
func TestEditorShowsNothingInOtherFiles(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"src-tauri/capabilities/main.json": sound, "src-tauri/tauri.conf.json": "{}",
		"src/capabilities/a.ts": "", "src-tauri/capabilities/b.ts": ""})
	e := newEditor(t)
	for _, file := range []string{filepath.Join(t.TempDir(), "alone.ts"), filepath.Join(dir, "src/capabilities/a.ts"),
		filepath.Join(dir, "src-tauri/capabilities/b.ts"), filepath.Join(dir, "package.json"),
		filepath.Join(dir, "src-tauri/permissions/own.toml")} {
		require.Empty(t, e.open(file, "let a = 1"))
	}
	require.NotEmpty(t, e.open(filepath.Join(dir, "src-tauri/capabilities/new.json"), "let a = 1"))
}
