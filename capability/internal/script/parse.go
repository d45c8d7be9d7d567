// Package script reads JavaScript and TypeScript, also in pages and components, and returns what a
// file imports, exports and calls.
package script

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

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

// Parse reads a file. It may be called by several goroutines.
func Parse(name string, source []byte) (*Module, error) {
	loader, ok := Extensions[path.Ext(name)]
	switch {
	case !ok:
		return nil, fmt.Errorf("%s is not the extension of a script or page", path.Ext(name))
	case len(source) > MaxBytes:
		return nil, fmt.Errorf("it has %d bytes; at most %d are read", len(source), MaxBytes)
	case marks(source) > maxMarks:
		return nil, errors.New("it has too many operators and brackets, as generated files do")
	}
	m := &Module{Exports: make(map[string]Value), Names: make(map[string]bool),
		Classes: make(map[string]Value), Returns: make(map[string]Value)}
	done := make(chan error, 1)
	go func() {
		if loader != api.LoaderNone {
			done <- m.script(source, 0, loader)
			return
		}
		done <- m.page(source, path.Ext(name))
	}()
	timer := time.NewTimer(maxTime)
	defer timer.Stop()
	select {
	case err := <-done:
		return m, err
	case <-timer.C:
		return nil, ErrTime
	}
}

// marks returns an upper bound of how deep a source is nested: the number of characters that may
// begin something nested, such as operators, brackets and the spaces after keywords.
func marks(source []byte) (n int) {
	word := false
	for at := 0; at < len(source); {
		r, size := utf8.DecodeRune(source[at:])
		at += size
		letter := r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
		space := unicode.IsSpace(r) || r == '\uFEFF'
		if space && word || !space && !letter && !strings.ContainsRune(")]};,\"'", r) {
			n++
		}
		word = letter
	}
	return n
}

// script reads the script at an offset of a file.
func (m *Module) script(source []byte, offset int, loader api.Loader) error {
	out := api.Transform(string(source), api.TransformOptions{
		Loader: loader, Target: api.ES2022, MinifyWhitespace: true, LegalComments: api.LegalCommentsNone,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, LogLevel: api.LogLevelSilent,
		JSX: api.JSXTransform, JSXFactory: "__element", JSXFragment: "__fragment",
		// Imports that only a template uses are kept.
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true,"experimentalDecorators":true}}`,
		Supported:   map[string]bool{"decorators": false, "import-attributes": false},
	})
	if len(out.Errors) > 0 {
		return errors.New(out.Errors[0].Text)
	}
	code := append(out.Code, 0)[:len(out.Code)] // room for the parser's end mark, so that it does not copy
	tree, err := js.Parse(parse.NewInputBytes(code), js.Options{})
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return errors.New(text)
	}
	if len(tree.List) == 0 {
		return nil // only types
	}
	places, err := sourcemap.Parse("", out.Map)
	if err != nil {
		return err
	}
	lines, outLines := lineStarts(source), lineStarts(code)
	a := &analysis{Module: m, inits: make(map[*js.Var]bound), imports: make(map[string]Value),
		locals: make(map[string]*js.Var), called: make(map[*js.Var]int), code: code}
	a.indexOf = func(part []byte) int { // the parser's parts are of the code
		return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(code))))
	}
	a.offset = func(part []byte) int {
		at := a.indexOf(part)
		line := sort.SearchInts(outLines, at+1) // one-based
		if at < 0 || at >= len(code) {
			return offset
		}
		_, _, from, column, ok := places.Source(line, at-outLines[line-1])
		if !ok || from < 1 || from > len(lines) {
			return offset
		}
		return offset + lines[from-1] + utf16Bytes(source[lines[from-1]:], column)
	}
	a.declare(tree)
	js.Walk(visitor{analysis: a}, tree)
	return nil
}

// lineStarts returns the offsets of the lines of a text.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// utf16Bytes returns how many bytes a number of UTF-16 units at the start of a text has.
func utf16Bytes(text []byte, units int) int {
	at := 0
	for at < len(text) && units > 0 && text[at] != '\n' {
		r, size := utf8.DecodeRune(text[at:])
		at += size
		units -= utf16.RuneLen(r)
	}
	return at
}

// page reads the scripts of a page or component.
func (m *Module) page(source []byte, ext string) error {
	component := ext != ".html"
	input := parse.NewInputBytes(append(slices.Clip(source), 0)[:len(source)])
	lexer := html.NewLexer(input)
	loader, script := api.LoaderJSX, false
	for {
		token, text := lexer.Next()
		switch token {
		case html.ErrorToken:
			if err := lexer.Err(); err != io.EOF {
				return err
			}
			return nil
		case html.StartTagToken:
			script, loader = string(lexer.Text()) == "script", api.LoaderJSX
		case html.AttributeToken:
			value := strings.Trim(string(lexer.AttrVal()), `"'`)
			switch key := string(lexer.AttrKey()); {
			case script && key == "lang" && (value == "ts" || value == "tsx"):
				loader = Extensions["."+value]
			case script && key == "type" && value != "" && value != "module" &&
				!strings.HasSuffix(value, "javascript"):
				script = false // data
			default:
				m.Names[key] = true
				m.template(value)
			}
		case html.TextToken:
			if script {
				at := input.Offset() - len(text)
				if err := m.script(source[at:input.Offset()], at, loader); err != nil {
					return err
				}
			} else if component {
				m.template(string(text))
			}
			script = false
		}
	}
}

// template keeps the words of a template's text, which may call what its scripts import.
func (m *Module) template(text string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && r != '-' && r != '|' && r != ':' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if len(word) <= maxString {
			m.Names[word] = true
		}
	}
}
