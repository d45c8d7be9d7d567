package jobqueue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"lessonkit.example/jobqueue/driver"
)

// DefaultQueue is the queue of a job whose Params have no Queue.
const DefaultQueue = "default"

// Unlimited as Params.MaxAttempts repeats a failing job forever, also one whose arguments cannot be
// decoded, which keeps its UniqueKey and its turn of its LimitKey.
const Unlimited = -1

const (
	defaultPriority    = 2
	defaultMaxAttempts = 10
	maxMeta            = 8 << 10
	maxKeyLimit        = 1000
)

// Params describe a job to enqueue. Kind is required.
type Params struct {
	// Kind selects the handler: see [Handle]. Kind, Queue and UniqueKey are at most 200 bytes of
	// UTF-8 without NUL.
	Kind string
	// Args are encoded as JSON; a json.RawMessage is used as it is and must be UTF-8. Nil is
	// encoded as null.
	Args any
	// Queue defaults to DefaultQueue.
	Queue string
	// Priority is 1 (first) to 4 (last) and defaults to 2. Within a priority jobs start in the
	// order of RunAt, then of their ids, of those whose enqueues have committed.
	Priority int
	// RunAt is the earliest start, in the years 1 to 9999. The zero value means now, by the clock
	// of the database. A time in the past moves the job forward in the queue: for example, users
	// take turns if a job of one who has n unfinished jobs gets a RunAt 1/(n+1) of a day ago.
	RunAt time.Time
	// MaxAttempts is how often the job may be started before it counts as failed. Defaults to 10;
	// Unlimited, like any negative number, means no limit.
	MaxAttempts int
	// UniqueKey, when not empty, allows only one job of this kind and key at a time. Enqueuing
	// another one changes nothing and returns the InsertResult of the existing job. The key is held
	// until the job has succeeded, failed or been cancelled.
	UniqueKey string
	// LimitKey, when not empty, limits how many jobs with this key, of any kinds and queues, run at
	// a time in all processes: KeyLimit, or one. They get their turns in the order in which their
	// enqueues commit, whatever their Priority and RunAt; those of one call, and others that wait
	// together, in the order of their ids. A job has its turn until it has succeeded, failed or
	// been cancelled, also while it waits for RunAt or for another attempt: with one at a time, the
	// jobs of a key run in order. The others are held; on PostgreSQL they are waiting until a claim
	// finds that they have no turn. At most 200 bytes of UTF-8 without NUL.
	//
	// Turns cost time: a queue full of short jobs with keys runs at about 0.6 of the rate of one
	// without, and more slowly where its keys are at their limits.
	LimitKey string
	// KeyLimit is how many jobs with the LimitKey may have a turn at a time: 1 to 1000; 0 means 1.
	// It may depend on the key, for example on what a customer pays. A job gets a turn when fewer
	// than its own KeyLimit have one, after those that wait before it: a new limit applies from the
	// first job that has it. Each turn costs time in proportion to it.
	KeyLimit int
	// Group makes the job a member of a group: see AfterGroup. A duplicate does not become one. At
	// most 200 bytes of UTF-8 without NUL. A name that is used again continues the same group.
	Group string
	// AfterGroup, when not empty, holds the job until the members of this group have ended, however
	// they have ended: [Client.GroupStats] counts them. Enqueue it together with the
	// members or after them, because a group without unfinished members has ended. Later, only a
	// running member may add further members. A job with another Group of its own continues a
	// chain. Not together with LimitKey.
	AfterGroup string
	// Meta is for what callers and middleware attach to a job, such as the request or the trace
	// that it belongs to. At most 8 KiB as JSON.
	Meta map[string]string
}

// EnqueueHook is called before jobs are enqueued, in any way: by a [Client], in a transaction of
// the caller, or by a schedule. It may change ps, which are copies, each with a Meta that is not
// nil. When it returns an error, none of them is enqueued. It is set in the configuration of a
// store.
//
// What it was called for may not be enqueued then: a job may be a duplicate, the transaction may be
// rolled back, and of several processes with the same schedule only one enqueues.
type EnqueueHook func(ctx context.Context, ps []Params) error

// hookOf returns the hook of a store, nil if it has none.
func hookOf(s Store) EnqueueHook {
	if s, ok := s.(interface{ EnqueueHook() EnqueueHook }); ok {
		return s.EnqueueHook()
	}
	return nil
}

// Insert is for stores, whose EnqueueTx calls it: it calls hook, unless that is nil, checks and
// encodes ps, and has insert insert them. It returns a result for each of ps, in the same order. An
// error states the position of the first invalid element.
func Insert(
	ctx context.Context, hook EnqueueHook, ps []Params, insert func([]driver.Record) ([]driver.InsertResult, error),
) ([]InsertResult, error) {
	if len(ps) == 0 {
		return nil, nil
	}
	rs, err := records(ctx, hook, ps)
	if err != nil {
		return nil, err
	}
	inserted, err := insert(rs)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	results := make([]InsertResult, len(inserted))
	for i, r := range inserted {
		results[i] = InsertResult(r)
	}
	return results, nil
}

// records calls hook, unless it is nil, then checks and encodes ps.
func records(ctx context.Context, hook EnqueueHook, ps []Params) ([]driver.Record, error) {
	if hook != nil {
		ps = slices.Clone(ps)
		for i := range ps {
			meta := map[string]string{}
			maps.Copy(meta, ps[i].Meta)
			ps[i].Meta = meta
		}
		if err := hook(ctx, ps); err != nil {
			return nil, fmt.Errorf("jobqueue: hook: %w", err)
		}
	}
	rs := make([]driver.Record, len(ps))
	for i, p := range ps {
		r, err := p.record()
		if err != nil && len(ps) > 1 {
			err = fmt.Errorf("job %d of %d: %w", i+1, len(ps), err)
		}
		if err != nil {
			return nil, err
		}
		rs[i] = r
	}
	return rs, nil
}

func (p Params) record() (driver.Record, error) {
	r := driver.Record{
		Queue: cmp.Or(p.Queue, DefaultQueue), Kind: p.Kind, Priority: cmp.Or(p.Priority, defaultPriority),
		MaxAttempts: max(cmp.Or(p.MaxAttempts, defaultMaxAttempts), Unlimited),
		UniqueKey:   p.UniqueKey, LimitKey: p.LimitKey, KeyLimit: p.KeyLimit, Group: p.Group, AfterGroup: p.AfterGroup,
	}
	if !p.RunAt.IsZero() {
		r.RunAt = p.RunAt.UTC().Truncate(time.Microsecond)
	}
	for _, name := range []struct{ what, value string }{
		{"kind", r.Kind}, {"queue", r.Queue}, {"unique key", r.UniqueKey}, {"limit key", r.LimitKey},
		{"group", r.Group}, {"AfterGroup", r.AfterGroup},
	} {
		if name.value == "" && name.what != "kind" {
			continue
		}
		if err := driver.CheckName(name.what, name.value); err != nil {
			return r, err
		}
	}
	// The zero Cursor is before year 1, and years beyond 9999 have no standard text form.
	year := r.RunAt.Year()
	switch {
	case r.KeyLimit < 0 || r.KeyLimit > maxKeyLimit:
		return r, fmt.Errorf("jobqueue: KeyLimit %d of kind %q is not 0 to %d", p.KeyLimit, p.Kind, maxKeyLimit)
	case r.KeyLimit > 0 && r.LimitKey == "":
		return r, fmt.Errorf("jobqueue: a job of kind %q has KeyLimit but no LimitKey", p.Kind)
	case r.AfterGroup != "" && r.LimitKey != "":
		return r, fmt.Errorf("jobqueue: a job of kind %q has both AfterGroup and LimitKey", p.Kind)
	case r.AfterGroup != "" && r.AfterGroup == r.Group:
		return r, fmt.Errorf("jobqueue: a job of kind %q would wait for itself: it is in the group %q",
			p.Kind, p.Group)
	case r.Priority < 1 || r.Priority > driver.Priorities:
		return r, fmt.Errorf("jobqueue: priority %d of kind %q is not 1 to %d", p.Priority, p.Kind, driver.Priorities)
	case r.MaxAttempts > math.MaxInt32:
		return r, fmt.Errorf("jobqueue: MaxAttempts %d of kind %q is more than %d",
			p.MaxAttempts, p.Kind, math.MaxInt32)
	case year < 1 || year > 9999:
		return r, fmt.Errorf("jobqueue: RunAt of kind %q is in the year %d, not 1 to 9999", p.Kind, year)
	}
	if r.KeyLimit == 1 {
		r.KeyLimit = 0
	}
	args, err := json.Marshal(p.Args)
	if err == nil && !utf8.Valid(args) {
		err = errors.New("they are not UTF-8")
	}
	if err != nil {
		return r, fmt.Errorf("jobqueue: encode arguments of kind %q: %w", p.Kind, err)
	}
	r.Args = args
	if len(p.Meta) == 0 {
		return r, nil
	}
	r.Meta, _ = json.Marshal(p.Meta) // cannot fail
	if len(r.Meta) > maxMeta {
		return r, fmt.Errorf("jobqueue: Meta of kind %q: %d bytes are more than %d", p.Kind, len(r.Meta), maxMeta)
	}
	return r, nil
}
