package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lessonkit.example/asr"
)

// maxOutput limits the standard output of a program.
const maxOutput = 8 << 20

// run runs the program on the WAV file and parses its output.
func (r *Recognizer) run(ctx context.Context, audio asr.Audio, dir, wav string) (asr.Transcript, error) {
	logFile := filepath.Join(dir, "log")
	language := cmp.Or(languageCode(audio.Language), "auto")
	replace := strings.NewReplacer("{input}", wav, "{dir}", dir, "{log}", logFile, "{language}", language)
	args := make([]string, 0, len(r.cfg.Args))
	for _, a := range r.cfg.Args[1:] {
		args = append(args, replace.Replace(a))
	}
	cmd := exec.CommandContext(ctx, r.program, args...)
	var stderr tail
	cmd.Dir, cmd.Stderr = dir, &stderr
	var t asr.Transcript
	parse := r.cfg.Parse(&t)
	var longest time.Duration
	out := &lineWriter{limit: maxOutput, line: func(line string) {
		parse(line)
		if n := len(t.Segments); audio.Progress != nil && n > 0 && t.Segments[n-1].End > longest {
			longest = t.Segments[n-1].End
			audio.Progress(longest)
		}
	}}
	cmd.Stdout = out
	err := runGroup(cmd)
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the program succeeded; a child of it kept the output open
	}
	if ctx.Err() != nil {
		return t, &asr.Error{Op: "command", Err: ctx.Err()}
	}
	out.flush()
	if err == nil && out.err == nil {
		return t, nil
	}
	message := strings.TrimSpace(stderr.line(dir) + " " + logErrors(logFile, dir))
	e := &asr.Error{
		Op: filepath.Base(r.program), Message: cmp.Or(message, "it failed without a message"),
		Err: cmp.Or(out.err, err),
	}
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
		e.Class = asr.ErrUnavailable // it could not be started
	}
	return t, e
}

// languageCode returns s if it can be a language code, else "": a program takes an argument that
// begins with "-" for an option.
func languageCode(s string) string {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-') || i > 15 {
			return ""
		}
	}
	return s
}

// lineWriter calls a function with each line that is written to it.
type lineWriter struct {
	line  func(string)
	limit int
	rest  []byte
	err   error
}

func (w *lineWriter) Write(p []byte) (int, error) {
	if w.limit -= len(p); w.limit < 0 {
		w.err = fmt.Errorf("more than %d bytes of output", maxOutput)
		return 0, w.err
	}
	w.rest = append(w.rest, p...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		w.line(strings.TrimRight(strings.ToValidUTF8(string(line), "\uFFFD"), "\r"))
		w.rest = rest
	}
}

func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.line(strings.ToValidUTF8(string(w.rest), "\uFFFD"))
		w.rest = nil
	}
}

// tail keeps the end of what is written to it.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - 4096; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

// line returns the text as one line of at most 200 bytes, without the path of the temporary file.
func (t *tail) line(path string) string { return oneLine(t.buf, path) }

func oneLine(b []byte, path string) string {
	s := strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), path, "audio")
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[len(s)-200:], "")
	}
	return s
}

// logErrors returns the errors in a log file, or its last line.
func logErrors(path, dir string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 64<<10 {
		_, _ = f.Seek(-64<<10, io.SeekEnd)
	}
	var last, errs string
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		line := scan.Text()
		if strings.TrimSpace(line) != "" {
			last = line
		}
		if strings.HasPrefix(line, "ERROR") || strings.HasPrefix(line, "FATAL") {
			errs += " " + line
		}
	}
	return oneLine([]byte(cmp.Or(errs, last)), dir)
}
