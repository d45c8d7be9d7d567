//go:build linux

// Package trial runs phones against a cluster whose parts are killed, and reports what was lost.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"lessonkit.example/examples/feedback-server/cluster/parts"
	"lessonkit.example/examples/feedback-server/fleet"
)

// Options configures [Run].
type Options struct {
	Dir string // contains haproxy.cfg and postgres.sh
	// Recogniser is the command of the stand-in for a recogniser. An address is added to it.
	Recogniser []string

	Phones         int           // number of phones
	Pace, Patience time.Duration // of a phone, see [fleet.Config]
	Kills          int           // of each kind of part
	Length         time.Duration // of the kills, at least
	Down           time.Duration // how long a killed part stays down before it is started again
}

// Data is the directory for the data and the logs, which [Run] makes in Dir.
func (o Options) Data() string { return filepath.Join(o.Dir, "cluster") }

// maxRefused is the share of recordings that may be refused.
const maxRefused = 0.01

// Run starts a cluster, has phones upload to it while it kills each kind of part, and prints what
// was killed and what was lost. It returns an error if anything was lost or doubled, or too much
// was refused.
func Run(ctx context.Context, o Options, out io.Writer) error {
	fmt.Fprintf(out, "Starting the cluster in %s\n", o.Dir)
	cluster, err := parts.Start(ctx, parts.Files{
		Dir: o.Data(), Postgres: filepath.Join(o.Dir, "postgres.sh"),
		Proxy: filepath.Join(o.Dir, "haproxy.cfg"), Recogniser: o.Recogniser,
	})
	defer cluster.Stop()
	if err != nil {
		return err
	}
	phones, err := fleet.Start(ctx, fleet.Config{
		URLs: []string{cluster.URL}, Phones: o.Phones, Pace: o.Pace, Patience: o.Patience,
	})
	if err != nil {
		return err
	}
	defer phones.Close()
	fmt.Fprintf(out, "%d phones upload to %s\n", o.Phones, cluster.URL)
	outages, err := killEach(ctx, cluster, o, out)
	if err != nil {
		return err
	}
	phones.Stop()
	fmt.Fprintln(out, "The phones have stopped; waiting for the last texts")
	reading, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	tally, err := phones.Audit(reading)
	if err != nil {
		return err
	}
	return report(out, o, outages, tally)
}

// outage is what happened to the parts of a kind.
type outage struct {
	kind    string
	kills   int
	longest time.Duration // from a kill to the return
}

// calm is the shortest time between the return of a part and the next kill, so that also a slow
// machine does not lose two parts at once.
const calm = time.Second

// killEach kills the kinds of parts in turn, each as often as o says, spread over o.Length.
func killEach(ctx context.Context, cluster *parts.Cluster, o Options, out io.Writer) ([]outage, error) {
	var outages []outage
	for _, kind := range parts.Kinds() {
		outages = append(outages, outage{kind: kind})
	}
	began := time.Now()
	count := o.Kills * len(outages)
	for i := range count {
		due := began.Add(o.Length * time.Duration(i) / time.Duration(count))
		if err := parts.Sleep(ctx, max(calm, time.Until(due))); err != nil {
			return nil, err
		}
		t := &outages[i%len(outages)]
		killed := time.Now()
		if err := cluster.Kill(ctx, t.kind, o.Down); err != nil {
			return nil, fmt.Errorf("after the %s was killed: %w", t.kind, err)
		}
		back := time.Since(killed)
		t.kills++
		t.longest = max(t.longest, back)
		fmt.Fprintf(out, "%5.1fs  %s killed, back after %.1fs\n", killed.Sub(began).Seconds(), t.kind, back.Seconds())
	}
	return outages, parts.Sleep(ctx, time.Until(began.Add(o.Length)))
}

// failures lists the reasons of failed attempts, the most frequent first.
func failures(t fleet.Tally) (list []string) {
	reasons := slices.SortedFunc(maps.Keys(t.Failures), func(a, b string) int { return t.Failures[b] - t.Failures[a] })
	for _, reason := range reasons {
		list = append(list, fmt.Sprintf("%d %s", t.Failures[reason], reason))
	}
	return list
}

// report prints the table of a run, and returns an error if the run has failed.
func report(out io.Writer, o Options, outages []outage, t fleet.Tally) error {
	for i, problem := range t.Problems {
		if i == 20 {
			fmt.Fprintf(out, "… and %d others\n", len(t.Problems)-i)
			break
		}
		fmt.Fprintln(out, problem)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\npart\tkilled\tback after, at most")
	for _, k := range outages {
		fmt.Fprintf(table, "%s\t%d\t%.1f s\n", k.kind, k.kills, k.longest.Seconds())
	}
	all := t.Acknowledged + t.Refused
	fmt.Fprintf(table, "\nrecordings of %d phones\n", o.Phones)
	fmt.Fprintf(table, "acknowledged\t%d\t%d of them after more than one attempt\n", t.Acknowledged, t.Repeated)
	fmt.Fprintf(table, "\t\tmedian %.2f s, 99 of 100 within %.1f s, all within %.1f s\n", t.Median.Seconds(),
		t.P99.Seconds(), t.Longest.Seconds())
	fmt.Fprintf(table, "lost\t%d\tacknowledged, and gone, changed or without its text\n", t.Lost)
	fmt.Fprintf(table, "doubled\t%d\tstored or transcribed twice\n", t.Doubled)
	fmt.Fprintf(table, "refused\t%d\tnot acknowledged within %v\n", t.Refused, o.Patience)
	fmt.Fprintf(table, "\nfailed attempts\t%s\n", strings.Join(failures(t), ", "))
	fmt.Fprintf(table, "the last text came %.1f s after the last upload\n", t.Texts.Seconds())
	if err := table.Flush(); err != nil {
		return err
	}
	switch {
	case t.Acknowledged == 0:
		return errors.New("no recording was acknowledged")
	case t.Lost > 0 || t.Doubled > 0:
		return fmt.Errorf("%d lost and %d doubled", t.Lost, t.Doubled)
	case float64(t.Refused) >= maxRefused*float64(all):
		return fmt.Errorf("%d of %d were refused", t.Refused, all)
	}
	return nil
}
