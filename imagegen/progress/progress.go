// Package progress shows what a call of imagegen does, for programs with a person in front of them:
// one line that is rewritten on a terminal, plain lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"lessonkit.example/imagegen"
)

// Line shows progress on a writer, most often standard error. Its Trace is made for
// imagegen.Config.Trace. It is safe for concurrent use.
type Line struct {
	w        io.Writer
	terminal bool
	now      func() time.Time

	mu    sync.Mutex
	began time.Time
	text  string // what is being waited for
	shown int    // width of the line on the terminal
	stop  chan struct{}
	done  sync.WaitGroup
}

// New makes a Line that writes to w. On a terminal the line is rewritten as time passes; elsewhere
// each change is a line of its own.
func New(w io.Writer, terminal bool) *Line {
	return &Line{w: w, terminal: terminal, now: time.Now, stop: make(chan struct{})}
}

// Start begins to count the time, and shows it every second on a terminal. Close must be called
// afterwards.
func (l *Line) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began = l.now()
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

// Close wipes the line and ends the counting.
func (l *Line) Close() {
	close(l.stop)
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wipe()
}

// Trace shows an event.
func (l *Line) OnEvent(e imagegen.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case imagegen.EventAttempt:
		l.wait("waiting for the service")
	case imagegen.EventRetry:
		l.say("attempt %d failed, trying again in %v: %v", e.Attempt, e.Wait.Round(100*time.Millisecond), e.Err)
	case imagegen.EventTask:
		l.say("task %s", e.TaskID)
		l.wait("pending")
	case imagegen.EventPoll:
		if e.Err != nil {
			l.say("poll failed, trying again: %v", e.Err)
			return
		}
		state := string(e.State)
		if state == "" {
			state = "unknown"
		}
		if l.terminal {
			state = fmt.Sprintf("%s, poll %d", state, e.Polls)
		}
		l.wait(state)
	case imagegen.EventProgress:
		if l.terminal {
			l.wait(fmt.Sprintf("image %d: %s", e.Image.Index+1, size(e.Bytes)))
		}
	case imagegen.EventImage:
		l.say("image %d: %s%s", e.Image.Index+1, describe(*e.Image), path(e.Image.Path))
	}
}

// describe is an image in a few words.
func describe(i imagegen.Info) string {
	parts := []string{strings.TrimPrefix(i.Type, "image/"), size(i.Size)}
	if i.Width > 0 {
		parts = append([]string{fmt.Sprintf("%dx%d", i.Width, i.Height)}, parts...)
	}
	return strings.Join(parts, ", ")
}

func path(p string) string {
	if p == "" {
		return ""
	}
	return " → " + p
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

// say writes a line that stays.
func (l *Line) say(format string, args ...any) {
	l.wipe()
	fmt.Fprintf(l.w, format+"\n", args...)
	l.draw()
}

// wait shows what is being waited for.
func (l *Line) wait(text string) {
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
	return l.now().Sub(l.began).Truncate(time.Second)
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

func (l *Line) wipe() {
	if l.shown > 0 {
		fmt.Fprintf(l.w, "\r%s\r", strings.Repeat(" ", l.shown))
		l.shown = 0
	}
}
