// Package report writes what was found in capability files, for people and for other programs: as
// text with the lines in question, as JSON, and as SARIF 2.1.0, which code hosts show beside a
// change.
//
//	err := report.SARIF(os.Stdout, lint.CheckApp(app, lint.Options{}), lint.Rules(), report.SARIFOptions{})
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/words"
)

// TextOptions configures [Text] and [Changes].
type TextOptions struct {
	// Color uses the colours of a terminal. Defaults to none.
	Color bool
	// Files is the number of files that were read, for the last line.
	Files int
}

// Colours of a terminal.
const (
	bold   = "1"
	red    = "1;31"
	green  = "1;32"
	yellow = "1;33"
	blue   = "1;34"
	cyan   = "36"
)

func (o TextOptions) paint(color, s string) string {
	if !o.Color || s == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

func severityColor(s capability.Severity) string {
	switch s {
	case capability.Error:
		return red
	case capability.Warning:
		return yellow
	default:
		return blue
	}
}

// Text writes each diagnostic in one line, the line of the file below it with a caret, and finally
// how many there are.
func Text(w io.Writer, ds capability.Diagnostics, o TextOptions) error {
	var b strings.Builder
	counts := make(map[capability.Severity]int)
	for _, d := range ds {
		counts[d.Severity]++
		if place := d.Place(); place != "" {
			b.WriteString(o.paint(bold, Printable(place)) + ": ")
		}
		fmt.Fprintf(&b, "%s: %s %s\n", o.paint(severityColor(d.Severity), d.Severity.String()), Printable(d.Message),
			o.paint(cyan, "["+string(d.Code)+"]"))
		excerpt(&b, d, o)
		alsoAt(&b, d, o)
	}
	b.WriteString(summary(counts, o.Files))
	_, err := io.WriteString(w, b.String())
	return err
}

// maxPlaces limits the further places of a diagnostic that are listed.
const maxPlaces = 12

// alsoAt lists the lines of a diagnostic's further places.
func alsoAt(b *strings.Builder, d capability.Diagnostic, o TextOptions) {
	var lines []string
	for _, p := range d.Related {
		line := fmt.Sprint(p.Start.Line)
		if p.File != d.File {
			line = fmt.Sprintf("%s:%d", Printable(p.File), p.Start.Line)
		}
		if p.Start.IsValid() && !slices.Contains(lines, line) && (p.File != d.File || p.Start.Line != d.Start.Line) {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		slices.SortStableFunc(lines, func(a, b string) int { return len(a) - len(b) })
		fmt.Fprintf(b, "%s see also line %s\n", o.paint(blue, "      |"), words.Some(lines, maxPlaces))
	}
}

func summary(counts map[capability.Severity]int, files int) string {
	var parts []string
	for _, s := range []capability.Severity{capability.Error, capability.Warning, capability.Info} {
		if n := counts[s]; n > 0 {
			name := s.String()
			if s == capability.Info {
				name = "note"
			}
			parts = append(parts, plural(n, name))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("%s checked, nothing found.\n", plural(files, "file"))
	}
	return fmt.Sprintf("%s checked: %s.\n", plural(files, "file"), strings.Join(parts, ", "))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxShown is how much of a long line is shown, in characters.
const maxShown = 100

// excerpt writes the line of a diagnostic and marks the place in it.
func excerpt(b *strings.Builder, d capability.Diagnostic, o TextOptions) {
	// A line may have a million characters, so the part that is shown is cut out first.
	before, after := d.Around(maxShown + 1)
	line := []rune(before + after)
	if len(line) == 0 {
		return
	}
	from := utf8.RuneCountInString(before)
	to := len(line)
	if d.End.Line == d.Start.Line {
		to = min(from+max(d.End.Column-d.Start.Column, 1), len(line)+1)
	}
	shift := 0
	if len(line) > maxShown && from > maxShown/2 {
		shift = from - maxShown/3
	}
	end := min(len(line), shift+maxShown)
	shown := make([]rune, 0, end-shift)
	for _, r := range line[shift:end] {
		if unicode.IsSpace(r) {
			r = ' '
		}
		shown = append(shown, r)
	}
	text := Printable(string(shown))
	if shift > 0 {
		text = "…" + text
		shift--
	}
	if end < len(line) {
		text += "…"
	}
	margin := fmt.Sprintf("%5d", d.Start.Line)
	marks := strings.Repeat(" ", from-shift) + o.paint(severityColor(d.Severity),
		strings.Repeat("^", max(1, min(to, end)-from)))
	fmt.Fprintf(b, "%s %s\n%s %s\n", o.paint(blue, margin+" |"), text,
		o.paint(blue, strings.Repeat(" ", len(margin))+" |"), marks)
}

// Printable replaces control characters, so that a file's text cannot control a terminal.
func Printable(s string) string { return printable(s, "") }

// PrintableText is [Printable] for a text of several lines: line breaks and tabs stay.
func PrintableText(s string) string { return printable(s, "\n\t") }

func printable(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if isControl(r) && !strings.ContainsRune(keep, r) {
			return '\ufffd'
		}
		return r
	}, s)
}

// isControl reports whether a character controls a terminal or the direction of a text.
func isControl(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Encode writes a value as indented JSON, with escapes for all control characters.
func Encode(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	var escaped strings.Builder
	for _, r := range b.String() {
		if r != '\n' && isControl(r) { // only in a string, and never beyond 16 bits
			fmt.Fprintf(&escaped, "\\u%04x", r)
		} else {
			escaped.WriteRune(r)
		}
	}
	_, err := io.WriteString(w, escaped.String())
	return err
}
