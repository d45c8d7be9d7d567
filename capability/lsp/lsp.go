// Package lsp implements a language server for capability files: editors show what is wrong while
// it is written, offer fixes, complete the identifiers of permissions and tell what they grant.
//
//	err := lsp.Serve(ctx, editor, lsp.Options{Workspace: workspace, Version: "v1.0.0"})
//
// Package cli runs it over standard input and output, for the applications on disk.
package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log"
	"maps"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"lessonkit.example/capability"
)

// Workspace checks files with the application that they belong to. Check is not called again before
// it has returned.
type Workspace interface {
	// Check returns the findings in the application of a file, with the manifests that it has. Open
	// contains the texts of files, by their absolute names, that count instead of those on disk.
	// The findings name files so that [filepath.Abs] returns their absolute names. Fresh means that
	// files on disk may have changed since the last call.
	Check(file string, open map[string]string, fresh bool) (capability.Diagnostics, *capability.Manifests, error)
	// App returns a name for the application of a file, the same for all of its files.
	App(file string) string
}

// Options configures [Serve].
type Options struct {
	// Workspace checks the files that an editor opens. Required.
	Workspace Workspace
	// Version is that of the program, which editors show.
	Version string
}

// Serve speaks the Language Server Protocol with an editor until the editor ends the session, the
// connection is closed, or the context ends, whose error it returns. It handles one message after
// the other, and checks beside them: what is edited while a check runs is checked once after it.
func Serve(ctx context.Context, editor io.ReadWriteCloser, o Options) error {
	session, end := context.WithCancel(ctx)
	s := &server{options: o, open: make(map[string]*file), shown: make(map[string]shown), end: end,
		pending: make(map[string]bool), wake: make(chan struct{}, 1)}
	stream := jsonrpc2.NewBufferedStream(editor, codec{})
	conn := jsonrpc2.NewConn(session, stream, jsonrpc2.HandlerWithError(s.handle).SuppressErrClosed(),
		jsonrpc2.SetLogger(log.New(io.Discard, "", 0))) // it is the editor that reports what went wrong
	var checks sync.WaitGroup
	checks.Go(func() { s.checkPending(session, conn) })
	defer checks.Wait()
	defer end()
	select {
	case <-conn.DisconnectNotify():
	case <-session.Done():
	}
	_ = conn.Close() // the editor may have closed it
	return ctx.Err()
}

// file is a file that the editor has open.
type file struct {
	*text
	version   int
	found     capability.Diagnostics
	manifests *capability.Manifests
}

type server struct {
	options Options

	mu   sync.Mutex       // of what follows
	open map[string]*file // by absolute name
	// pending are files whose applications are to be checked; whether files on disk may have
	// changed.
	pending map[string]bool
	wake    chan struct{}    // has room for one: something is pending
	shown   map[string]shown // the files whose findings the editor shows
	end     context.CancelFunc
}

func (s *server) handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	var p params
	if r.Params != nil && r.Method != "initialize" {
		if err := json.Unmarshal(*r.Params, &p); err != nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
		}
	}
	name := nameOf(p.TextDocument.URI)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case "initialize":
		return map[string]any{"capabilities": serverCapabilities,
			"serverInfo": map[string]any{"name": "capability", "version": s.options.Version}}, nil
	case "shutdown":
		return nil, nil
	case "exit":
		s.end()
	case "textDocument/didOpen":
		s.open[name] = &file{text: newText(p.TextDocument.Text), version: p.TextDocument.Version}
		s.later(name, true)
	case "textDocument/didChange":
		if f, n := s.open[name], len(p.ContentChanges); f != nil && n > 0 {
			s.open[name] = &file{text: newText(p.ContentChanges[n-1].Text), version: p.TextDocument.Version,
				manifests: f.manifests}
			s.later(name, false)
		}
	case tooLarge: // it may have been a change of any of the files
		s.forget(ctx, conn)
	case "textDocument/didSave":
		s.later(name, true)
	case "textDocument/didClose":
		delete(s.open, name)
		s.publish(ctx, conn, "", name, nil)
	}
	if r.Notif {
		return nil, nil
	}
	f := s.open[name]
	if f == nil && strings.HasPrefix(r.Method, "textDocument/") {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: name + " is not open"}
	}
	switch r.Method {
	case "textDocument/codeAction":
		return s.actions(name, f, p.Range), nil
	case "textDocument/hover":
		return f.hover(name, p.Position), nil
	case "textDocument/completion":
		return f.complete(name, p.Position), nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "unknown method " + r.Method}
}

// later has the application of a file checked. Fresh means that files on disk may have changed.
func (s *server) later(name string, fresh bool) {
	s.pending[name] = s.pending[name] || fresh
	select {
	case s.wake <- struct{}{}:
	default: // the next check takes all that is pending
	}
}

// checkPending checks what is pending until the session ends.
func (s *server) checkPending(session context.Context, conn *jsonrpc2.Conn) {
	for {
		select {
		case <-session.Done():
			return
		case <-s.wake:
		}
		s.mu.Lock()
		pending, open := s.pending, maps.Clone(s.open)
		s.pending = make(map[string]bool)
		s.mu.Unlock()
		texts := make(map[string]string, len(open))
		for name, f := range open {
			texts[name] = f.src
		}
		for _, name := range slices.Sorted(maps.Keys(pending)) {
			if session.Err() != nil {
				return
			}
			found, manifests, err := s.options.Workspace.Check(name, texts, pending[name])
			s.mu.Lock()
			if err != nil {
				_ = conn.Notify(session, "window/logMessage", map[string]any{"type": 1, "message": err.Error()})
			} else if f := open[name]; f != nil && s.open[name] != nil {
				f.manifests, s.open[name].manifests = manifests, manifests
				s.show(session, conn, name, open, found)
			}
			s.mu.Unlock()
		}
	}
}

// show shows what a check of the application of a file found in its files as they were.
func (s *server) show(ctx context.Context, conn *jsonrpc2.Conn, name string, open map[string]*file,
	found capability.Diagnostics) {
	// An empty list removes what the editor shows. It also tells that the file was checked.
	byFile := map[string]capability.Diagnostics{name: nil}
	app := s.options.Workspace.App(name)
	for file, shown := range s.shown {
		if shown.app == app {
			byFile[file] = nil
		}
	}
	for _, d := range found {
		if file, err := filepath.Abs(d.File); err == nil && d.File != "" {
			byFile[file] = append(byFile[file], d)
		}
	}
	now := s.open
	s.open = open // the places are in these texts
	defer func() { s.open = now }()
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		isOld := func(d capability.Diagnostic) bool { return open[file] != nil && !d.Of(open[file].src) }
		if !slices.ContainsFunc(byFile[file], isOld) { // else the editor moves what it shows
			s.publish(ctx, conn, app, file, byFile[file])
		}
	}
}

// forget takes all files for closed.
func (s *server) forget(ctx context.Context, conn *jsonrpc2.Conn) {
	names := slices.Sorted(maps.Keys(s.open))
	_ = conn.Notify(ctx, "window/logMessage", map[string]any{"type": 1,
		"message": "a change or a file is too large; to check them again, open again: " + strings.Join(names, ", ")})
	for _, name := range names {
		delete(s.open, name)
		s.publish(ctx, conn, "", name, nil)
	}
}

// publish shows the findings in a file that a check of an application had. Nobody is left to hear
// of it if that fails.
func (s *server) publish(ctx context.Context, conn *jsonrpc2.Conn, app, name string, found capability.Diagnostics) {
	message := published{URI: uriOf(name), Diagnostics: []diagnostic{}}
	if f := s.open[name]; f != nil {
		message.Version, f.found = f.version, found
	}
	for _, d := range found {
		message.Diagnostics = append(message.Diagnostics, s.diagnostic(d))
	}
	text, _ := json.Marshal(message.Diagnostics) // which are texts and numbers
	now := shown{app, string(text)}
	if s.open[name] == nil && s.shown[name] == now {
		return // the editor has moved none of them
	}
	delete(s.shown, name)
	if len(found) > 0 {
		s.shown[name] = now
	}
	_ = conn.Notify(ctx, "textDocument/publishDiagnostics", message)
}

// shown is what the editor shows in a file: the findings of an application.
type shown struct{ app, findings string }

func (s *server) diagnostic(d capability.Diagnostic) diagnostic {
	severity := map[capability.Severity]int{capability.Error: 1, capability.Warning: 2, capability.Info: 3}[d.Severity]
	shown := diagnostic{Range: s.spanOf(d.File, d.Start, d.End), Severity: severity, Code: string(d.Code),
		Source: "capability", Message: d.Message}
	for _, p := range d.Related {
		if file, err := filepath.Abs(p.File); err == nil && p.File != "" {
			shown.Related = append(shown.Related, related{location{uriOf(file), s.spanOf(p.File, p.Start, p.Start)},
				p.Message})
		}
	}
	return shown
}

// spanOf returns a place as the protocol has it. In a file that is not open characters are counted
// as if each were one UTF-16 unit.
func (s *server) spanOf(name string, start, end capability.Position) span {
	file, err := filepath.Abs(name)
	if f := s.open[file]; err == nil && f != nil {
		return f.span(start.Offset, end.Offset)
	}
	at := func(p capability.Position) position { return position{max(p.Line-1, 0), max(p.Column-1, 0)} }
	return span{at(start), at(end)}
}

// actions returns the fixes of findings in a range.
func (s *server) actions(name string, f *file, at span) []codeAction {
	actions := []codeAction{}
	from, to := f.offset(at.Start), f.offset(at.End)
	for _, d := range f.found {
		if d.Fix == nil || d.Start.Offset > to || d.End.Offset < from {
			continue
		}
		var edits []textEdit
		file, err := filepath.Abs(cmp.Or(d.Fix.File, name))
		if err != nil {
			continue
		}
		for _, e := range d.Fix.Edits {
			at := s.spanOf(file, d.PositionAt(e.Start), d.PositionAt(e.End))
			edits = append(edits, textEdit{at, e.Text})
		}
		actions = append(actions, codeAction{Title: d.Fix.Title, Kind: "quickfix",
			Diagnostics: []diagnostic{s.diagnostic(d)}, IsPreferred: !d.Fix.Guess,
			Edit: workspaceEdit{map[string][]textEdit{uriOf(file): edits}}})
	}
	return actions
}

// nameOf returns the absolute name of the file at an address.
func nameOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	name := u.Path
	if runtime.GOOS == "windows" {
		name = strings.TrimPrefix(name, "/")
	}
	return filepath.Clean(filepath.FromSlash(name))
}

func uriOf(name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}
