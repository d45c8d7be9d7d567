// Package harness measures ours and a peer alternately in one run, and compares their ratio with a
// bound.
//
// The speed of a machine drifts, but hardly between two runs of a pair. A figure is therefore the
// median over the pairs with its smallest and largest value, and a comparison the median of the
// pairs' ratios.
package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"
)

// Harness collects the rows of one subject.
type Harness struct {
	// Pairs is the number of measurements of each side; at least 1.
	Pairs int

	// Args are the arguments after the flags, for subjects with parts.
	Args []string

	// Log receives progress messages.
	Log io.Writer

	// TB keeps resources until the end of the subject, or of the part that acquired them.
	TB TB

	subject string
	check   bool
	rows    []Row
}

// Better is the direction in which a measure improves.
type Better int

// The values of Better.
const (
	Higher Better = iota // rates: the ratio must be at least Must
	Lower                // times, bytes: the ratio must be at most Must
)

// Row is one measure.
type Row struct {
	Name, Unit string

	// Ours and Peer have one value for each pair. Peer is empty where Must bounds the value itself
	// instead of the ratio.
	Ours, Peer []float64

	// PeerName names what ours is compared with.
	PeerName string

	Better Better
	Must   float64 // bound of the ratio ours/peer, or of ours; 0: none
}

// New parses the flags of a subject's command line.
func New(subject string, args []string) (*Harness, error) {
	h := &Harness{Log: os.Stderr, subject: subject}
	fs := flag.NewFlagSet(subject, flag.ContinueOnError)
	fs.BoolVar(&h.check, "check", false, "fail if a measure misses its bound")
	fs.IntVar(&h.Pairs, "pairs", 5, "number of measurements of each side")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if h.Pairs < 1 {
		return nil, errors.New("-pairs: at least 1")
	}
	h.Args = fs.Args()
	return h, nil
}

// Part is a part of a subject, which can be run alone.
type Part struct {
	Name string
	Run  func(context.Context)
}

// RunParts runs the parts that the arguments name, or all of them.
func (h *Harness) RunParts(ctx context.Context, parts []Part) {
	for _, arg := range h.Args {
		if !slices.ContainsFunc(parts, func(p Part) bool { return p.Name == arg }) {
			Check(fmt.Errorf("unknown part %q", arg))
		}
	}
	acquired := len(h.TB.cleanups)
	for _, p := range parts {
		if len(h.Args) > 0 && !slices.Contains(h.Args, p.Name) {
			continue
		}
		p.Run(ctx)
		h.TB.release(acquired)
	}
}

// Alternate measures ours and the peer one after the other, changing which goes first, and adds row
// with the values.
func (h *Harness) Alternate(row Row, ours, peer func() float64) {
	for i := range h.Pairs {
		values := [2]float64{}
		for _, k := range []int{i % 2, 1 - i%2} {
			values[k] = []func() float64{ours, peer}[k]()
		}
		h.AddPair(&row, values[0], values[1])
	}
	h.Add(row)
}

// AlternateTurns is like Alternate for measures that the machine's other work, or its disk, would
// spoil in one piece: within each pair the two sides take turns. A turn returns how much it did and
// how long that took, and the value of a side is the rate of its turns together.
func (h *Harness) AlternateTurns(row Row, turns int, ours, peer func() (float64, time.Duration)) {
	side := [2]func() (float64, time.Duration){ours, peer}
	for pair := range h.Pairs {
		var done, seconds [2]float64
		for turn := range turns {
			for _, k := range []int{(pair + turn) % 2, (pair + turn + 1) % 2} {
				n, took := side[k]()
				done[k] += n
				seconds[k] += took.Seconds()
			}
		}
		h.AddPair(&row, done[0]/seconds[0], done[1]/seconds[1])
	}
	h.Add(row)
}

// AddPair appends the values of a pair to row, and reports them.
func (h *Harness) AddPair(row *Row, ours, peer float64) {
	row.Ours, row.Peer = append(row.Ours, ours), append(row.Peer, peer)
	fmt.Fprintf(h.Log, "%s, pair %d of %d: %.4g against %.4g %s\n", row.Name, len(row.Ours), h.Pairs, ours, peer,
		row.Unit)
}

// Repeat measures a value that has no peer, as often as there are pairs, and adds row with it.
func (h *Harness) Repeat(row Row, measure func() float64) {
	for range h.Pairs {
		row.Ours = append(row.Ours, measure())
	}
	h.Add(row)
}

// Add adds a row.
func (h *Harness) Add(row Row) { h.rows = append(h.rows, row) }

// ratios returns ours/peer of each pair.
func (r Row) ratios() []float64 {
	ratios := make([]float64, 0, len(r.Peer))
	for i, p := range r.Peer {
		ratios = append(ratios, r.Ours[i]/p)
	}
	return ratios
}

// result returns the value that is compared with the bound.
func (r Row) result() float64 {
	if len(r.Peer) > 0 {
		return Median(r.ratios())
	}
	return Median(r.Ours)
}

// holds reports whether the measure is within its bound, which it prints too.
func (r Row) holds() (ok bool, bound string) {
	switch {
	case r.Must == 0:
		return true, ""
	case r.Better == Higher:
		return r.result() >= r.Must, fmt.Sprintf("≥ %.4g", r.Must)
	}
	return r.result() <= r.Must, fmt.Sprintf("≤ %.4g", r.Must)
}

// failure is the value of a panic that ends a run.
type failure struct{ error }

// Check ends the run if err is not nil, releasing its resources: an error of any part makes all
// figures worthless.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Must returns v, or ends the run as [Check] does.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Try calls f and returns the error with which it ended the run.
func Try(f func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case failure:
			err = v.error
		default:
			panic(v)
		}
	}()
	f()
	return nil
}

// Finish prints the table. With -check it returns an error that names every row out of bounds.
func (h *Harness) Finish(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measure\tunit\tours (min..max)\tpeer (min..max)\tratio (min..max)\tmust\t")
	var failed []string
	for _, r := range h.rows {
		verdict := ""
		ok, bound := r.holds()
		if !ok {
			verdict = "FAILS"
			failed = append(failed, r.Name)
		}
		peer, ratio := "", ""
		if len(r.Peer) > 0 {
			peer, ratio = r.PeerName+" "+spread(r.Peer), spread(r.ratios())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Unit, spread(r.Ours), peer, ratio, bound, verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, machine())
	if h.check && len(failed) > 0 {
		return fmt.Errorf("out of bounds: %q", failed)
	}
	return nil
}

// machine describes what the figures depend on.
func machine() string {
	s := fmt.Sprintf("%s %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if slices.Contains(peers, d.Path) {
				s += ", " + d.Path + " " + d.Version
			}
		}
	}
	return s
}

// peers are the modules whose versions are printed with the figures.
var peers = []string{
	"github.com/riverqueue/river", "github.com/pocketbase/pocketbase", "github.com/openai/openai-go/v3",
	"github.com/santhosh-tekuri/jsonschema/v6", "github.com/jackc/pgx/v5", "modernc.org/sqlite",
}

// Median returns the middle value, or the mean of the two middle values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func spread(values []float64) string {
	return fmt.Sprintf("%.4g (%.4g..%.4g)", Median(values), slices.Min(values), slices.Max(values))
}
