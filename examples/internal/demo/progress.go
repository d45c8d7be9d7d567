package demo

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressDisplay shows how many segments are transcribed: as a bar on a terminal, otherwise as a
// line for each change.
type progressDisplay struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil if w is not a terminal
	total int
	ready int
}

func newProgressDisplay(w io.Writer, total int) *progressDisplay {
	p := &progressDisplay{w: w, total: total, ready: -1}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription("Transcribing"),
			progressbar.OptionShowCount(),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }),
		)
	}
	return p
}

func (p *progressDisplay) set(ready int) {
	switch {
	case p.bar != nil:
		_ = p.bar.Set(ready) // fails only with the terminal
	case ready != p.ready:
		fmt.Fprintf(p.w, "Transcribing: %d of %d segments are done.\n", ready, p.total)
	}
	p.ready = ready
}
