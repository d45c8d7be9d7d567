package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/markers"
	"lessonkit.example/asr/internal/process"
	"lessonkit.example/asr/provider"
)

// maxOutput limits the standard output of a program.
const maxOutput = 8 << 20

// run runs the program on the WAV file and parses its output.
func (r *Recognizer) run(
	ctx context.Context, audio asr.Audio, dir, wav string, duration time.Duration,
) (asr.Transcript, error) {
	language := cmp.Or(provider.PrimaryLanguage(audio.Language), "auto")
	prompt := ""
	if strings.Contains(strings.Join(r.cfg.Args, " "), "{prompt}") {
		prompt = strings.ReplaceAll(provider.Prompt(audio), "\x00", "") // no argument can have it
	}
	replace := strings.NewReplacer("{input}", wav, "{dir}", dir, "{language}", language, "{prompt}",
		strings.TrimLeft(prompt, "- "))
	args := make([]string, 0, len(r.cfg.Args))
	for _, a := range r.cfg.Args[1:] {
		args = append(args, replace.Replace(a))
	}
	cmd := exec.CommandContext(ctx, r.program, args...)
	var stderr process.Tail
	cmd.Dir, cmd.Stderr = dir, &stderr
	var t asr.Transcript
	var out output
	cmd.Stdout = &out
	err := process.Run(cmd)
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the program succeeded; a child of it kept the output open
	}
	if bytes.Contains(out.text, []byte(" --> ")) {
		out.text = divided.ReplaceAll(out.text, []byte("${1}${2}\uFFFD${3}"))
	}
	rest := string(out.text)
	for line := range strings.Lines(rest) {
		if out.err != nil {
			break
		}
		// More is not speech, and of very many lines each takes long.
		if len(t.Text) > utf8.UTFMax*maxText(duration) {
			t.Text = asr.JoinText(t.Text, rest)
			break
		}
		r.cfg.Parse(&t, strings.TrimRight(line, "\r\n"))
		rest = rest[len(line):]
	}
	if ctx.Err() != nil {
		return t, &asr.Error{Op: "command", Err: ctx.Err()}
	}
	if out.err == nil && !utf8.Valid(out.text) {
		out.err = errors.New("its output is not UTF-8")
	}
	t.Segments = dropMarkers(t.Segments)
	t.Text = cmp.Or(markers.Drop(t.Text), asr.JoinSegments(t.Segments))
	t = provider.DropEcho(t, prompt, audio.Words)
	said := asr.Audio{Words: append(slices.Clone(audio.Words), audio.Prompt), Prompt: t.Text}
	if out.err != nil {
		said.Prompt = string(out.text) // it was not parsed
	}
	messages := stderr.String()
	if err == nil && out.err == nil {
		return t, checkText(t.Text, duration, messages, said)
	}
	messages = strings.ReplaceAll(messages, dir, "audio")
	message := provider.Excerpt(errorLines(messages, reportsError), said)
	e := &asr.Error{Op: filepath.Base(r.program), Message: message, Err: cmp.Or(out.err, err)}
	if message == "" {
		e.Message = fmt.Sprintf("it failed after %d bytes of messages", len(strings.TrimSpace(messages)))
	}
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && out.err == nil && !isExit {
		e.Class = asr.ErrUnavailable // it could not be started
	}
	return t, e
}

// divided matches the parts of a character that whisper-cli divides between two lines: bytes that
// are not UTF-8 after the times, or at the end of a text.
var divided = regexp.MustCompile(
	`(?m)^(\[[\d:.]+ --> [\d:.]+\] *)\x{FFFD}{1,3}|([^\x{FFFD}\n])\x{FFFD}{1,3}(\r?)$`)

// dropMarkers returns the segments that have text besides markers.
func dropMarkers(segments []asr.Segment) []asr.Segment {
	for i := range segments {
		segments[i].Text = markers.Drop(segments[i].Text)
	}
	return slices.DeleteFunc(segments, func(s asr.Segment) bool { return s.Text == "" })
}

var (
	reportsError = regexp.MustCompile(`(?i)^\s*(?:\S*error\b|fatal\b|\S+: (?:\S*error|failed|cannot|could not)\b)`)
	// zeroStatusError is how whisper-cli and others report errors after which they exit with status
	// 0. What PocketSphinx reports as ERROR: "file.c", line 1: … may be that nobody speaks.
	zeroStatusError = regexp.MustCompile(`^error:|^(?i:error):\s*[^"\s]`)
)

// errorLines returns the lines of a program's messages that match pattern. Other lines may be what
// it recognised.
func errorLines(messages string, pattern *regexp.Regexp) string {
	var lines []string
	for line := range strings.Lines(messages) {
		if pattern.MatchString(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, " ")
}

// checkText returns an error for a text that cannot be what was said in a recording of the
// duration: it is empty because of an error in the messages, it is JSON, or it is longer than
// anybody can speak.
func checkText(text string, duration time.Duration, messages string, said asr.Audio) error {
	switch n := utf8.RuneCountInString(text); {
	case text == "":
		if message := provider.Excerpt(errorLines(messages, zeroStatusError), said); message != "" {
			return &asr.Error{Op: "command", Message: message}
		}
	case strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}"):
		return &asr.Error{Op: "command", Class: asr.ErrMisconfigured,
			Message: "the program prints JSON, which would become the text; parse it (speech-server -parse json)"}
	case n > maxText(duration):
		return &asr.Error{Op: "command", Class: asr.ErrMisconfigured,
			Message: fmt.Sprintf("the program prints more than %d characters for %v of audio, which is not speech; "+
				"silence its messages", maxText(duration), duration.Round(time.Second))}
	}
	return nil
}

// maxText is how many characters a recording may have: fast speakers reach 25 in a second.
func maxText(duration time.Duration) int { return 200 + int(50*duration.Seconds()) }

// output keeps what is written to it, up to maxOutput bytes.
type output struct {
	text []byte
	err  error
}

func (o *output) Write(p []byte) (int, error) {
	if len(o.text)+len(p) > maxOutput {
		o.err = fmt.Errorf("more than %d bytes of output", maxOutput)
		return 0, o.err
	}
	o.text = append(o.text, p...)
	return len(p), nil
}
