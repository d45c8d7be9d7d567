//go:build linux

// Package trial runs phones against a cluster whose parts are killed, and reports what was lost.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"lessonkit.example/examples/feedback-server/cluster/parts"
	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/examples/internal/program"
)

// Options configures [Run].
type Options struct {
	Phones int
	Pace   time.Duration // of a phone, see [fleet.Config]
	Kinds  int           // of faults, in their order
	Kills  int           // of each fault
	Length time.Duration // of the faults, at least
}

// patience is how long a phone repeats an upload before it counts as refused.
const patience = time.Minute

// maxRefused is the share of recordings that may be refused.
const maxRefused = 0.01

// Run starts a cluster, has phones upload to it while it causes each fault, and prints what
// happened and what was lost. It returns an error if anything was lost or doubled, or too much
// was refused.
func Run(ctx context.Context, files parts.Files, o Options, out io.Writer) error {
	cluster, err := parts.Start(ctx, files, out)
	defer cluster.Stop()
	if err != nil {
		return err
	}
	phones, err := fleet.Start(ctx, fleet.Config{
		URLs: []string{cluster.URL}, Phones: o.Phones, Pace: o.Pace, Patience: patience,
	})
	if err != nil {
		return err
	}
	defer phones.Close()
	fmt.Fprintf(out, "%d phones upload\n", o.Phones)
	outages, err := causeEach(ctx, cluster, phones, o, out)
	if err != nil {
		return err
	}
	phones.Stop()
	fmt.Fprintln(out, "The phones have stopped; waiting for the last texts")
	reading, cancel := context.WithTimeout(ctx, 3*time.Minute+o.Length/4) // every recording is read twice
	defer cancel()
	tally, err := phones.Audit(reading)
	if err != nil {
		return err
	}
	return report(out, o, outages, tally)
}

// outage is what a fault has caused.
type outage struct {
	parts.Fault
	times       int
	whole, idle time.Duration // at most: until the cluster was whole again, and without an acknowledgement
}

// calm is the shortest time between two faults, before the first and after the last.
const calm = time.Second

// causeEach causes the faults in turn, each as often as o says, spread over o.Length.
func causeEach(
	ctx context.Context, cluster *parts.Cluster, phones *fleet.Fleet, o Options, out io.Writer,
) ([]outage, error) {
	var outages []outage
	for _, fault := range parts.Faults()[:o.Kinds] {
		outages = append(outages, outage{Fault: fault})
	}
	began := time.Now()
	count := o.Kills * len(outages)
	for i := range count {
		due := began.Add(o.Length * time.Duration(i) / time.Duration(count))
		if !program.Pause(ctx, max(calm, time.Until(due))) {
			return nil, ctx.Err()
		}
		phones.Gap()
		fault := &outages[i%len(outages)]
		start := time.Now()
		if err := cluster.Cause(ctx, fault.Fault); err != nil {
			return nil, fmt.Errorf("%s: %w", fault.Name, err)
		}
		whole, idle := time.Since(start), phones.Gap()
		fault.times++
		fault.whole, fault.idle = max(fault.whole, whole), max(fault.idle, idle)
		fmt.Fprintf(out, "%2d of %d  %s: whole again after %.1f s, at most %.1f s without an upload\n",
			i+1, count, fault.Name, whole.Seconds(), idle.Seconds())
	}
	program.Pause(ctx, max(calm, time.Until(began.Add(o.Length))))
	return outages, ctx.Err()
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
	fmt.Fprintln(table, "\nfault\ttimes\twithout an upload, at most\twhole again, at most")
	for _, k := range outages {
		fmt.Fprintf(table, "%s\t%d\t%.1f s\t%.1f s\n", k.Name, k.times, k.idle.Seconds(), k.whole.Seconds())
	}
	all := t.Acknowledged + t.Refused
	fmt.Fprintf(table, "\nrecordings of %d phones\n", o.Phones)
	fmt.Fprintf(table, "acknowledged\t%d\t%d of them after more than one attempt\n", t.Acknowledged, t.Repeated)
	fmt.Fprintf(table, "\t\tmedian %.2f s, 99 of 100 within %.1f s, all within %.1f s\n", t.Median.Seconds(),
		t.P99.Seconds(), t.Longest.Seconds())
	fmt.Fprintf(table, "lost\t%d\tacknowledged, and gone, changed or without its text\n", t.Lost)
	fmt.Fprintf(table, "doubled\t%d\tstored or transcribed twice\n", t.Doubled)
	fmt.Fprintf(table, "refused\t%d\tnot acknowledged within %v\n", t.Refused, patience)
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
