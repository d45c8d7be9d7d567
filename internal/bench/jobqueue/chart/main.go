// Command chart draws the JSON of a measurement as SVG:
//
//	go run ./jobqueue/chart RESULT.json… > jobqueue/results/chart.svg
//
// A bar is how many times better ours is than what it is held against (the inverse of the ratio where less is better), from
// the smallest to the largest pair with the median as its end; a tick is the bound that -check holds it to.
package main

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"slices"

	"lessonkit.example/internal/bench/harness"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

const (
	rowHeight, top, left, width, right = 30, 56, 290, 560, 150
)

func run(out io.Writer, files []string) error {
	var rows []harness.Row
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var result struct{ Rows []harness.Row }
		if err := json.Unmarshal(body, &result); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, result.Rows...)
	}
	most := 1.0
	for _, r := range rows {
		most = max(most, harness.Median(times(r))*1.05)
	}
	x := func(v float64) float64 { return left + width*min(v, most)/most }
	height := top + rowHeight*len(rows) + 20
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13">`+"\n", left+width+right, height)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" fill="#fff"/><text x="16" y="28" font-size="17" font-weight="600" fill="#1c2430">Times better than the peer (median of the pairs; line: smallest to largest; tick: must)</text>`+"\n")
	fmt.Fprintf(out, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#98a2b0" stroke-dasharray="3 3"/><text x="%.1f" y="%d" fill="#5c6878" text-anchor="middle" font-size="11">1×</text>`+"\n",
		x(1), x(1), top-6, height-16, x(1), top-10)
	for i, r := range rows {
		y := float64(top + i*rowHeight)
		ts := times(r)
		if len(ts) == 0 {
			continue
		}
		m := harness.Median(ts)
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end" fill="#1c2430">%s</text>`, left-10, y+17, html.EscapeString(r.Name))
		fmt.Fprintf(out, `<rect x="%d" y="%.1f" width="%.1f" height="18" rx="3" fill="#2456c7" opacity=".85"/>`, left, y+4, x(m)-left)
		fmt.Fprintf(out, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#0e2a6b" stroke-width="2"/>`, x(slices.Min(ts)), x(slices.Max(ts)), y+13, y+13)
		if r.Must > 0 {
			b := r.Must
			if r.Better == harness.Lower {
				b = 1 / b
			}
			fmt.Fprintf(out, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#b3261e" stroke-width="2.5"/>`, x(b), x(b), y+1, y+25)
		}
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" fill="#1c2430">%.2f× <tspan fill="#5c6878" font-size="11">%s</tspan></text>`+"\n",
			max(x(m), x(slices.Max(ts)))+8, y+17, m, html.EscapeString(r.PeerName))
	}
	_, err := fmt.Fprintln(out, "</svg>")
	return err
}

// times is how many times better ours is, a pair each.
func times(r harness.Row) []float64 {
	ts := r.Ratios()
	if r.Better == harness.Lower {
		for i := range ts {
			ts[i] = 1 / ts[i]
		}
	}
	return ts
}
