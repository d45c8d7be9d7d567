// Package harness measures ours and a peer alternately in one run, and compares their ratio with a
// bound.
//
// The speed of a machine drifts, but hardly between two runs of a pair. A figure is therefore the
// median over the pairs with its smallest and largest value, and a comparison the median of the
// pairs' ratios.
package harness

import (
	"context"
	"crypto/sha256"
	"encoding/json"
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
	json    string
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
	Name string `json:"name"`
	Unit string `json:"unit"`

	// Ours and Peer have one value for each pair. Peer is empty where Must bounds the value itself
	// instead of the ratio.
	Ours []float64 `json:"ours"`
	Peer []float64 `json:"peer,omitempty"`

	// PeerName names what ours is compared with.
	PeerName string `json:"peer_name,omitempty"`

	Better    Better  `json:"better"`
	Must, Aim float64 // bounds of the ratio ours/peer, or of ours; 0: none
}

// New parses the flags of a subject's command line.
func New(subject string, args []string) (*Harness, error) {
	h := &Harness{Log: os.Stderr, subject: subject}
	fs := flag.NewFlagSet(subject, flag.ContinueOnError)
	fs.BoolVar(&h.check, "check", false, "fail if a measure misses its bound")
	fs.StringVar(&h.json, "json", "", "also write the measurements to this `file`")
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
	Run  func(context.Context) error
}

// RunParts runs the parts that the arguments name, or all of them.
func (h *Harness) RunParts(ctx context.Context, parts []Part) error {
	for _, arg := range h.Args {
		if !slices.ContainsFunc(parts, func(p Part) bool { return p.Name == arg }) {
			return fmt.Errorf("unknown part %q", arg)
		}
	}
	acquired := len(h.TB.cleanups)
	for _, p := range parts {
		if len(h.Args) > 0 && !slices.Contains(h.Args, p.Name) {
			continue
		}
		if err := p.Run(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		h.TB.release(acquired)
	}
	return nil
}

// Alternate measures ours and the peer one after the other, changing which goes first, and adds row
// with the values.
func (h *Harness) Alternate(row Row, ours, peer func() (float64, error)) error {
	for i := range h.Pairs {
		order := []func() (float64, error){ours, peer}
		values := [2]float64{}
		for _, k := range []int{i % 2, 1 - i%2} {
			v, err := order[k]()
			if err != nil {
				return fmt.Errorf("%s: %w", row.Name, err)
			}
			values[k] = v
		}
		row.Ours, row.Peer = append(row.Ours, values[0]), append(row.Peer, values[1])
		fmt.Fprintf(h.Log, "%s, pair %d of %d: %.4g against %.4g %s\n", row.Name, i+1, h.Pairs, values[0], values[1],
			row.Unit)
	}
	h.Add(row)
	return nil
}

// Add adds a row.
func (h *Harness) Add(row Row) { h.rows = append(h.rows, row) }

// Ratios returns ours/peer of each pair.
func (r Row) Ratios() []float64 {
	ratios := make([]float64, 0, len(r.Peer))
	for i, p := range r.Peer {
		ratios = append(ratios, r.Ours[i]/p)
	}
	return ratios
}

// result returns the value that is compared with the bounds.
func (r Row) result() float64 {
	if len(r.Peer) > 0 {
		return Median(r.Ratios())
	}
	return Median(r.Ours)
}

// Holds reports whether the measure is within bound.
func (r Row) Holds(bound float64) bool {
	if r.Better == Higher {
		return r.result() >= bound
	}
	return r.result() <= bound
}

// Finish prints the table and writes the JSON file. With -check it returns an error that names
// every row out of bounds.
func (h *Harness) Finish(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measure\tunit\tours (min..max)\tpeer (min..max)\tratio (min..max)\tmust\taim\t")
	var failed []string
	for _, r := range h.rows {
		verdict := ""
		switch {
		case r.Must != 0 && !r.Holds(r.Must):
			verdict = "FAILS"
			failed = append(failed, r.Name)
		case r.Aim != 0 && r.Holds(r.Aim):
			verdict = "reaches its aim"
		}
		peer, ratio := "", ""
		if len(r.Peer) > 0 {
			peer, ratio = r.PeerName+" "+spread(r.Peer), spread(r.Ratios())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Unit, spread(r.Ours), peer, ratio,
			r.bound(r.Must), r.bound(r.Aim), verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, machine())
	if h.json != "" {
		body, err := json.MarshalIndent(map[string]any{"machine": machine(), "rows": h.rows}, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(h.json, append(body, '\n'), 0o644); err != nil {
			return err
		}
	}
	if h.check && len(failed) > 0 {
		return fmt.Errorf("out of bounds: %q", failed)
	}
	return nil
}

func (r Row) bound(v float64) string {
	switch {
	case v == 0:
		return ""
	case r.Better == Higher:
		return fmt.Sprintf("≥ %.4g", v)
	}
	return fmt.Sprintf("≤ %.4g", v)
}

// machine describes what the figures depend on. Uploads, for one, cost little more than their
// SHA-256, which is several times faster on processors that have instructions for it.
func machine() string {
	s := fmt.Sprintf("%s %s/%s, %d processors, SHA-256 at %.2g GB/s",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), hashRate()/1e9)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if slices.Contains(peers, d.Path) {
				s += ", " + d.Path + " " + d.Version
			}
		}
	}
	return s
}

// hashRate returns the bytes per second of SHA-256 on one processor.
func hashRate() float64 {
	block := make([]byte, 32<<20)
	began := time.Now()
	sha256.Sum256(block)
	return float64(len(block)) / time.Since(began).Seconds()
}

// peers are the modules whose versions are printed with the figures.
var peers = []string{
	"github.com/riverqueue/river",
	"github.com/riverqueue/river/riverdriver/riversqlite",
	"github.com/pocketbase/pocketbase",
	"github.com/openai/openai-go/v3",
	"github.com/santhosh-tekuri/jsonschema/v6",
	"github.com/jackc/pgx/v5",
	"modernc.org/sqlite",
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
