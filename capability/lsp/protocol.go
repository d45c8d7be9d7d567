package lsp

import (
	"bufio"
	"encoding/json"
	"io"
	"net/textproto"
	"strconv"

	"github.com/sourcegraph/jsonrpc2"
)

const (
	maxMessage = 8 << 20 // bytes
	// tooLarge is the method of the notification that is read instead of a message with more.
	tooLarge = "$/tooLarge"
)

// codec reads and writes messages up to a limit, each behind a header with its length.
type codec struct{ jsonrpc2.VSCodeObjectCodec }

// ReadObject implements [jsonrpc2.ObjectCodec].
func (codec) ReadObject(stream *bufio.Reader, v any) error {
	header, err := textproto.NewReader(stream).ReadMIMEHeader()
	if err != nil {
		return err
	}
	length, err := strconv.ParseUint(header.Get("Content-Length"), 10, 32)
	if err != nil {
		return err
	}
	if length > maxMessage {
		if _, err := io.CopyN(io.Discard, stream, int64(length)); err != nil {
			return err
		}
		return json.Unmarshal([]byte(`{"jsonrpc": "2.0", "method": "`+tooLarge+`"}`), v)
	}
	return json.NewDecoder(io.LimitReader(stream, int64(length))).Decode(v)
}

// The parts of the Language Server Protocol 3.17 that are used, by their names there.

type position struct {
	Line      int `json:"line"`      // from 0
	Character int `json:"character"` // in UTF-16 code units, from 0
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type textDocument struct {
	URI     string `json:"uri"`
	Text    string `json:"text,omitempty"`
	Version int    `json:"version,omitempty"`
}

// params has the parameters of all requests and notifications that are answered.
type params struct {
	TextDocument   textDocument `json:"textDocument"`
	ContentChanges []struct {
		Text string `json:"text"` // the whole one
	} `json:"contentChanges"`
	Position position `json:"position"`
	Range    span     `json:"range"`
}

type diagnostic struct {
	Range    span      `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
	Related  []related `json:"relatedInformation,omitempty"`
}

type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

type related struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type published struct {
	URI         string       `json:"uri"`
	Version     int          `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics"`
	IsPreferred bool          `json:"isPreferred"`
	Edit        workspaceEdit `json:"edit"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type hover struct {
	Contents markup `json:"contents"`
	Range    span   `json:"range"`
}

type completionItem struct {
	Label    string   `json:"label"`
	Kind     int      `json:"kind"`
	Detail   string   `json:"detail,omitempty"`
	TextEdit textEdit `json:"textEdit"`
}

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

// serverCapabilities answers initialize: with every edit the whole text is sent.
var serverCapabilities = map[string]any{
	"positionEncoding":   "utf-16",
	"textDocumentSync":   map[string]any{"openClose": true, "change": 1, "save": true},
	"hoverProvider":      true,
	"completionProvider": map[string]any{"triggerCharacters": []string{`"`, ":"}},
	"codeActionProvider": map[string]any{"codeActionKinds": []string{"quickfix"}},
}
