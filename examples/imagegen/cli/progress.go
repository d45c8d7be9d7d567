package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"lessonkit.example/imagegen"
)

// progress shows the events of a call: a line for each change.
type progress struct {
	w     io.Writer
	state string
}

func (p *progress) onEvent(e imagegen.Event) {
	switch e.Kind {
	case imagegen.EventAttempt:
		p.setState("waiting for the service")
	case imagegen.EventRetry:
		fmt.Fprintf(p.w, "attempt %d failed, trying again in %v: %v\n", e.Attempt, e.Wait.Round(100*time.Millisecond),
			e.Err)
	case imagegen.EventTask:
		fmt.Fprintln(p.w, "task "+e.TaskID)
	case imagegen.EventPoll:
		if e.Err != nil {
			p.setState(fmt.Sprintf("poll failed, trying again: %v", e.Err))
		} else {
			p.setState(string(e.State))
		}
	case imagegen.EventImage:
		i := e.Image
		fmt.Fprintf(p.w, "image %d: %dx%d, %s, %.1f kB %s\n", i.Index+1, i.Width, i.Height,
			strings.TrimPrefix(i.Type, "image/"), float64(i.Size)/1e3, i.Path)
	}
}

func (p *progress) setState(state string) {
	if state != p.state {
		p.state = state
		fmt.Fprintln(p.w, state)
	}
}
