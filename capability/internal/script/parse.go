// Package script reads JavaScript and TypeScript, also in pages and components, and returns what a
// file imports, exports and calls.
package script

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/html"
	"github.com/tdewolff/parse/v2/js"
)

// The limits of a file. The compiler of TypeScript calls itself for what is nested, with up to 13
// kB of stack for two marks, and a stack of more than 1 GB would end the program.
const (
	MaxBytes = 1 << 20
	maxMarks = 50_000
	maxTime  = 10 * time.Second
)

// Extensions are those of the files that Parse reads.
var Extensions = map[string]api.Loader{".js": api.LoaderJSX, ".jsx": api.LoaderJSX, ".mjs": api.LoaderJSX,
	".cjs": api.LoaderJSX, ".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS, ".tsx": api.LoaderTSX,
	".vue": api.LoaderNone, ".svelte": api.LoaderNone, ".html": api.LoaderNone}

// ErrTime reports that a file took too long. Its parsing cannot be stopped: it goes on beside the
// program.
var ErrTime = errors.New("it takes too long to parse")

// Parse reads a file of at most MaxBytes. It may be called by several goroutines. Functions that
// visit get its tree.
func Parse(name string, source []byte, visit ...func(*Module, *js.AST)) (*Module, error) {
	if marks(source) > maxMarks {
		return nil, errors.New("it has too many operators and brackets, as generated files do")
	}
	m := &Module{Exports: make(map[string]Ref), Returns: make(map[string]Ref), Imports: make(map[string]string),
		Names: make(map[string]bool), names: make(map[string]Ref), inits: make(map[*js.Var]Ref), file: name,
		source: source}
	done := make(chan error, 1)
	go func() { done <- m.read(visit) }()
	select {
	case err := <-done:
		return m, err
	case <-time.After(maxTime):
		return nil, ErrTime
	}
}

// marks returns an upper bound of how deep a source is nested: the number of characters that may
// begin something nested, such as operators, brackets and the spaces after keywords.
func marks(source []byte) (n int) {
	word := false
	for _, r := range string(source) {
		letter := r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
		space := unicode.IsSpace(r) || r == '\uFEFF'
		if space && word || !space && !letter && !strings.ContainsRune(")]};,\"'", r) {
			n++
		}
		word = letter
	}
	return n
}

// read reads the scripts of the source.
func (m *Module) read(visit []func(*Module, *js.AST)) (err error) {
	if m.loader = Extensions[path.Ext(m.file)]; m.loader == api.LoaderNone {
		if err = m.page(); err != io.EOF {
			return err
		}
	}
	out := m.compile(api.SourceMapNone)
	if len(out.Errors) > 0 {
		return errors.New(out.Errors[0].Text)
	}
	m.code = append(out.Code, 0)[:len(out.Code)] // room for the parser's end mark, so that it does not copy
	tree, err := js.Parse(parse.NewInputBytes(m.code), js.Options{})
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return errors.New(text)
	}
	for _, v := range tree.Declared {
		m.names[string(v.Data)] = v
	}
	js.Walk(&visitor{Module: m, called: make(map[*js.Var]int), refs: make(Refs)}, tree)
	for _, f := range visit {
		f(m, tree)
	}
	return nil
}

func (m *Module) compile(withMap api.SourceMap) api.TransformResult {
	return api.Transform(string(m.source), api.TransformOptions{
		Loader: m.loader, Target: api.ES2022, MinifyWhitespace: true, LegalComments: api.LegalCommentsNone,
		Sourcemap: withMap, SourcesContent: api.SourcesContentExclude, LogLevel: api.LogLevelSilent,
		JSX: api.JSXTransform, JSXFactory: "__element", JSXFragment: "__fragment",
		// Imports that only a template uses are kept.
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true,"experimentalDecorators":true}}`,
		Supported:   map[string]bool{"decorators": false, "import-attributes": false},
	})
}

// Words yields the words of a source, of letters, digits and what joins the words of a name: with
// and without that, and those at the start of a string and after | again after '.
func Words(source []byte, yield func(word []byte)) {
	joins := func(c rune) bool { return c == '-' || c == '|' || c == ':' }
	quoted := append(make([]byte, 0, 2*MaxName), '\'')
	for at := 0; at < len(source); at++ {
		start := at
		for at < len(source) && (isLetter(source[at]) || joins(rune(source[at]))) {
			at++
		}
		word := source[start:at]
		yield(word)
		for part := range bytes.FieldsFuncSeq(word, joins) {
			yield(part)
		}
		if _, command, ok := bytes.Cut(word, []byte{'|'}); ok {
			yield(append(quoted, command...))
		}
		if start > 0 && strings.IndexByte("\"'`", source[start-1]) >= 0 {
			yield(append(quoted, word...))
		}
	}
}

// page leaves of a page or component only the scripts, among spaces. It returns what ended it.
func (m *Module) page() error {
	input := parse.NewInputBytes(append(slices.Clip(m.source), 0)[:len(m.source)])
	script := bytes.Repeat([]byte{' '}, len(m.source))
	for _, at := range lineStarts(m.source)[1:] {
		script[at-1] = '\n'
	}
	lexer := html.NewLexer(input)
	m.loader = api.LoaderJSX
	for isScript := false; ; {
		token, text := lexer.Next()
		switch token {
		case html.ErrorToken:
			m.source = script
			return lexer.Err()
		case html.StartTagToken:
			isScript = string(lexer.Text()) == "script"
		case html.AttributeToken:
			key, value := string(lexer.AttrKey()), string(unquoted(lexer.AttrVal()))
			switch typed, ok := Extensions["."+value]; {
			case isScript && key == "lang" && ok:
				m.loader = typed
			case isScript && key == "src":
				m.Imports[value] = ""
			case isScript && key == "type":
				isScript = value == "" || value == "module" || strings.HasSuffix(value, "javascript")
			}
		case html.TextToken:
			if isScript {
				copy(script[input.Offset()-len(text):], text)
				copy(script[input.Offset():], ";")
			}
			isScript = false
		}
	}
}

// Offset returns where in the file a part of the code was made from. Parts in about the order of
// the file take the least time.
func (m *Module) Offset(of []byte) int {
	part := m.index(of)
	if m.places == nil { // few sources have something to report
		m.places, _ = sourcemap.Parse("", m.compile(api.SourceMapExternal).Map) // the compiler's map is valid
		m.inCode, m.inSource = lineStarts(m.code), lineStarts(m.source)
	}
	if part < 0 || part >= len(m.code) {
		return 0
	}
	line := sort.SearchInts(m.inCode, part+1) // one-based
	_, _, from, column, ok := m.places.Source(line, part-m.inCode[line-1])
	if !ok || from < 1 || from > len(m.inSource) {
		return 0
	}
	if from != m.line || column < m.column {
		m.line, m.column, m.at = from, 0, m.inSource[from-1]
	}
	for m.at < len(m.source) && m.column < column && m.source[m.at] != '\n' { // in UTF-16
		r, size := utf8.DecodeRune(m.source[m.at:])
		m.at += size
		m.column += utf16.RuneLen(r)
	}
	return m.at
}

// lineStarts returns the offsets of the lines of a text, and of its end.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for line := range bytes.Lines(text) {
		starts = append(starts, starts[len(starts)-1]+len(line))
	}
	return starts
}
