// Package progress shows the progress of an imagegen call to a person: one line that is rewritten
// on a terminal, and plain lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"lessonkit.example/imagegen"
)

// Line shows progress on a writer, usually standard error. Pass its OnEvent to
// imagegen.Config.OnEvent. It is safe for concurrent use.
type Line struct {
	w        io.Writer
	terminal bool

	mu     sync.Mutex
	began  time.Time
	text   string // the current state
	failed string // why the last poll failed, if it did
	shown  int    // width of the line on the terminal
	stop   chan struct{}
	done   sync.WaitGroup
}

// New returns a Line that writes to w: a line that is rewritten if w is a terminal, else one line
// per change.
func New(w io.Writer, terminal bool) *Line {
	return &Line{w: w, terminal: terminal, stop: make(chan struct{})}
}

// Start starts to measure the time, and to show it every second on a terminal. Close must be called
// afterwards.
func (l *Line) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began = time.Now()
	if !l.terminal {
		return
	}
	l.done.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-ticker.C:
				l.mu.Lock()
				l.draw()
				l.mu.Unlock()
			}
		}
	})
}

// Close clears the line.
func (l *Line) Close() {
	close(l.stop)
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}

// OnEvent shows an event.
func (l *Line) OnEvent(e imagegen.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case imagegen.EventAttempt:
		l.setState("waiting for the service")
	case imagegen.EventRetry:
		l.print("attempt %d failed, trying again in %v: %v", e.Attempt, e.Wait.Round(100*time.Millisecond), e.Err)
	case imagegen.EventTask:
		l.print("task %s", e.TaskID)
		l.setState("pending")
	case imagegen.EventPoll:
		if e.Err != nil {
			if failed := e.Err.Error(); failed != l.failed {
				l.failed = failed
				l.print("poll failed, trying again: %v", e.Err)
			}
			return
		}
		if l.failed != "" {
			l.failed, l.text = "", "" // the state is shown again, even if it is the one before
		}
		state := string(e.State)
		if state == "" {
			state = "unknown"
		}
		if l.terminal {
			state = fmt.Sprintf("%s, poll %d", state, e.Polls)
		}
		l.setState(state)
	case imagegen.EventProgress:
		if l.terminal {
			l.setState(fmt.Sprintf("image %d: %s", e.Image.Index+1, size(e.Bytes)))
		}
	case imagegen.EventImage:
		l.print("image %d: %s", e.Image.Index+1, describe(*e.Image))
	}
}

// describe returns dimensions, format, size and path of an image, as far as they are known.
func describe(i imagegen.Info) string {
	text := strings.TrimPrefix(i.Type, "image/") + ", " + size(i.Size)
	if i.Width > 0 {
		text = fmt.Sprintf("%dx%d, %s", i.Width, i.Height, text)
	}
	if i.Path != "" {
		text += " → " + i.Path
	}
	return text
}

func size(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// print writes a permanent line.
func (l *Line) print(format string, args ...any) {
	l.clear()
	fmt.Fprintf(l.w, format+"\n", args...)
	l.draw()
}

// setState shows the current state.
func (l *Line) setState(text string) {
	if !l.terminal && text != l.text {
		fmt.Fprintf(l.w, "%s (%v)\n", text, l.elapsed())
	}
	l.text = text
	l.draw()
}

func (l *Line) elapsed() time.Duration {
	if l.began.IsZero() {
		return 0
	}
	return time.Since(l.began).Truncate(time.Second)
}

func (l *Line) draw() {
	if !l.terminal || l.text == "" {
		return
	}
	line := fmt.Sprintf("%s (%v)", l.text, l.elapsed())
	width := len([]rune(line))
	fmt.Fprintf(l.w, "\r%s%s", line, strings.Repeat(" ", max(0, l.shown-width)))
	l.shown = width
}

func (l *Line) clear() {
	if l.shown > 0 {
		fmt.Fprintf(l.w, "\r%s\r", strings.Repeat(" ", l.shown))
		l.shown = 0
	}
}
