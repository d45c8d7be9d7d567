package queueui

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"lessonkit.example/jobqueue"
)

// span is a period that the page of a queue shows.
type span struct {
	Name, Step string
	last, step time.Duration
}

var spans = []span{
	{"hour", "1 min", time.Hour, time.Minute}, {"day", "15 min", 24 * time.Hour, 15 * time.Minute},
	{"week", "2 h", 7 * 24 * time.Hour, 2 * time.Hour},
}

// The size of a chart in its own units.
const (
	chartWidth  = 600
	chartHeight = 100
)

type line struct {
	Class, Name string
	Points      string
}

// chart is a chart of some lines with a common scale.
type chart struct {
	Title, Most string // Most is what the top of the chart stands for
	Lines       []line
}

type figuresData struct {
	Queue        string
	Span         span
	Spans        []span
	Since, Until time.Time
	Total        jobqueue.Figure
	Charts       []chart
}

func (u *ui) figures(w http.ResponseWriter, r *http.Request) error {
	d := figuresData{Queue: r.URL.Query().Get("queue"), Spans: spans, Span: spans[0], Until: time.Now().UTC()}
	for _, s := range spans {
		if r.URL.Query().Get("last") == s.Name {
			d.Span = s
		}
	}
	if d.Queue == "" {
		return failure{http.StatusBadRequest, "The address names no queue."}
	}
	figures, err := u.client.Figures(r.Context(), d.Queue, d.Span.last, d.Span.step)
	if err != nil {
		return err
	}
	d.Since = d.Until.Add(-d.Span.last)
	steps := along(figures, d.Until, d.Span)
	ended, failed := make([]float64, len(steps)), make([]float64, len(steps))
	p50, p95 := make([]float64, len(steps)), make([]float64, len(steps))
	for i, f := range steps {
		ended[i], failed[i] = float64(f.Finished), float64(f.Failed)
		p50[i], p95[i] = f.WaitP50.Seconds(), f.WaitP95.Seconds()
		d.Total.Finished, d.Total.Failed = d.Total.Finished+f.Finished, d.Total.Failed+f.Failed
		d.Total.Started += f.Started
		d.Total.WaitP95 = max(d.Total.WaitP95, f.WaitP95)
	}
	most := slices.Max(ended)
	lines := []line{{"finished", "ended", points(ended, most)}}
	if d.Total.Failed > 0 {
		lines = append(lines, line{"failed", "failed", points(failed, most)})
	}
	d.Charts = append(d.Charts, chart{"Jobs that ended", group(int(most)), lines})
	most = slices.Max(p95)
	d.Charts = append(d.Charts, chart{"Wait before the start", age(time.Duration(most * float64(time.Second))), []line{
		{"p50", "half of the jobs", points(p50, most)}, {"p95", "95 of 100", points(p95, most)},
	}})
	return u.render(w, r, http.StatusOK, "figures", d.Queue, d)
}

// along returns the figures of a queue for every step of a span that ends at until.
func along(figures []jobqueue.Figure, until time.Time, s span) []jobqueue.Figure {
	steps := make([]jobqueue.Figure, s.last/s.step+1)
	first := until.Truncate(s.step).Add(-s.last)
	for _, f := range figures {
		if i := int(f.Start.Sub(first) / s.step); i >= 0 && i < len(steps) {
			steps[i] = f
		}
	}
	return steps
}

// points returns the points of a line for SVG, the greatest value at the top.
func points(values []float64, most float64) string {
	var b strings.Builder
	for i, v := range values {
		y := float64(chartHeight)
		if most > 0 {
			y -= v / most * chartHeight
		}
		fmt.Fprintf(&b, "%d,%.1f ", i*chartWidth/(len(values)-1), y)
	}
	return strings.TrimSpace(b.String())
}
