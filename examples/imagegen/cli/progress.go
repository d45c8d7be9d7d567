package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"lessonkit.example/imagegen"
)

// progress shows the events of a call: a line for each change and, below them on a terminal, the
// state with the time that has passed.
type progress struct {
	w       io.Writer
	spinner *progressbar.ProgressBar // nil if w is not a terminal
	state   string
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w}
	if terminal(w) {
		p.spinner = progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionSpinnerType(14),
			progressbar.OptionSetElapsedTime(true), progressbar.OptionClearOnFinish())
	}
	return p
}

func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func (p *progress) onEvent(e imagegen.Event) {
	switch e.Kind {
	case imagegen.EventAttempt:
		p.setState("waiting for the service")
	case imagegen.EventRetry:
		p.print(fmt.Sprintf("attempt %d failed, trying again in %v: %v", e.Attempt, e.Wait.Round(100*time.Millisecond),
			e.Err))
	case imagegen.EventTask:
		p.print("task " + e.TaskID)
	case imagegen.EventPoll:
		if e.Err != nil {
			p.setState(fmt.Sprintf("poll failed, trying again: %v", e.Err))
		} else {
			p.setState(string(e.State))
		}
	case imagegen.EventProgress:
		if p.spinner != nil {
			p.setState(fmt.Sprintf("image %d: %.1f MB", e.Image.Index+1, float64(e.Bytes)/1e6))
		}
	case imagegen.EventImage:
		i := e.Image
		p.print(fmt.Sprintf("image %d: %dx%d, %s, %.1f kB %s", i.Index+1, i.Width, i.Height,
			strings.TrimPrefix(i.Type, "image/"), float64(i.Size)/1e3, i.Path))
	}
}

func (p *progress) print(line string) {
	if p.spinner != nil {
		_ = p.spinner.Clear()
	}
	fmt.Fprintln(p.w, line)
}

func (p *progress) setState(state string) {
	if state == p.state {
		return
	}
	if p.state = state; p.spinner != nil {
		p.spinner.Describe(state)
	} else {
		fmt.Fprintln(p.w, state)
	}
}

func (p *progress) close() {
	if p.spinner != nil {
		_ = p.spinner.Finish()
	}
}
