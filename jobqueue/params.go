package jobqueue

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// DefaultQueue is the queue of a job whose Params name none.
	DefaultQueue = "default"
	// DefaultPriority is the priority of a job whose Params give none. 1 is the most urgent, 4 the least.
	DefaultPriority = 2
	// DefaultMaxAttempts is how often a job is tried when its Params give no limit.
	DefaultMaxAttempts = 10
	// Unlimited as Params.MaxAttempts never gives up.
	Unlimited = -1

	lowestPriority = 4
	maxNameLen     = 200
)

// Unique says how long a unique key keeps other jobs of the same kind and key out.
type Unique uint8

const (
	// UniqueUntilDone keeps them out until the job has succeeded, failed for good or been cancelled.
	UniqueUntilDone Unique = iota
	// UniqueUntilStarted keeps them out until a worker takes the job: one job may wait while another one runs.
	UniqueUntilStarted
)

// Params describe a job to enqueue. Kind is required; the zero value of everything else is a good default.
type Params struct {
	// Kind chooses the handler: see [Handle].
	Kind string
	// Args are encoded as JSON; a json.RawMessage is taken as it is. Nil is encoded as null.
	Args any
	// Queue defaults to DefaultQueue.
	Queue string
	// Priority is 1 (first) to 4 (last) and defaults to DefaultPriority. Within a priority jobs start in the order of
	// RunAt, then of their ids.
	Priority int
	// RunAt is the earliest start, in the years 1 to 9999. The zero value means at once, by the clock of the database.
	RunAt time.Time
	// MaxAttempts is how often the job may be started before it counts as failed. Defaults to DefaultMaxAttempts;
	// Unlimited, as any negative number, never gives up.
	MaxAttempts int
	// UniqueKey, when not empty, lets at most one job of this kind and key exist; Unique says for how long.
	// Enqueuing another one changes nothing and returns a Receipt of the job that is there.
	UniqueKey string
	// Unique defaults to UniqueUntilDone.
	Unique Unique
}

// Receipt tells which job stands for the Params that were enqueued.
type Receipt struct {
	// ID is the id of the new job or, with Duplicate, of the one that held the unique key already.
	ID int64
	// Duplicate is true when nothing was enqueued because the unique key was taken.
	Duplicate bool
}

// Record is a checked and encoded Params: what a [Store] inserts.
type Record struct {
	Queue, Kind  string
	Priority     int
	RunAt        time.Time // zero: now, by the clock of the database
	MaxAttempts  int       // negative: unlimited
	UniqueKey    string    // empty: none
	UntilStarted bool      // the key is given up when a worker takes the job
	Args         []byte    // valid JSON
}

// Record checks p, fills in the defaults and encodes the arguments.
func (p Params) Record() (Record, error) {
	r := Record{
		Queue: p.Queue, Kind: p.Kind, Priority: p.Priority, MaxAttempts: p.MaxAttempts,
		UniqueKey: p.UniqueKey, UntilStarted: p.UniqueKey != "" && p.Unique == UniqueUntilStarted,
	}
	if r.Queue == "" {
		r.Queue = DefaultQueue
	}
	if r.Priority == 0 {
		r.Priority = DefaultPriority
	}
	if r.MaxAttempts == 0 {
		r.MaxAttempts = DefaultMaxAttempts
	}
	r.MaxAttempts = max(r.MaxAttempts, Unlimited)
	if !p.RunAt.IsZero() {
		r.RunAt = p.RunAt.UTC().Truncate(time.Microsecond)
	}
	if err := checkName("kind", r.Kind); err != nil {
		return Record{}, err
	}
	if err := checkName("queue", r.Queue); err != nil {
		return Record{}, err
	}
	if r.UniqueKey != "" {
		if err := checkName("unique key", r.UniqueKey); err != nil {
			return Record{}, err
		}
	}
	if r.Priority < 1 || r.Priority > lowestPriority {
		return Record{}, fmt.Errorf("jobqueue: priority %d of kind %q: want 1 to %d", p.Priority, p.Kind, lowestPriority)
	}
	if r.MaxAttempts > math.MaxInt32 {
		return Record{}, fmt.Errorf("jobqueue: %d attempts of kind %q: at most %d, or Unlimited", p.MaxAttempts, p.Kind, math.MaxInt32)
	}
	// The zero Mark comes before year 1, and times beyond 9999 have no text that others can read.
	if year := r.RunAt.Year(); year < 1 || year > 9999 {
		return Record{}, fmt.Errorf("jobqueue: kind %q is to run in the year %d: want 1 to 9999", p.Kind, year)
	}
	if p.Unique > UniqueUntilStarted {
		return Record{}, fmt.Errorf("jobqueue: unknown Unique %d of kind %q", p.Unique, p.Kind)
	}
	args, err := json.Marshal(p.Args)
	if err != nil {
		return Record{}, fmt.Errorf("jobqueue: encode arguments of kind %q: %w", p.Kind, err)
	}
	r.Args = args
	return r, nil
}

// Records encodes every element of ps; the error names the position of the first that does not fit.
func Records(ps []Params) ([]Record, error) {
	rs := make([]Record, len(ps))
	for i, p := range ps {
		r, err := p.Record()
		if err != nil {
			return nil, fmt.Errorf("job %d of %d: %w", i+1, len(ps), err)
		}
		rs[i] = r
	}
	return rs, nil
}

func checkName(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("jobqueue: %s is empty", what)
	case len(s) > maxNameLen:
		return fmt.Errorf("jobqueue: %s of %d bytes: at most %d are allowed", what, len(s), maxNameLen)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return fmt.Errorf("jobqueue: %s %q is not text (UTF-8 without NUL)", what, s)
	}
	return nil
}
