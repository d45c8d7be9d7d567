package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/fit"
)

// entry is a line of a batch file.
type entry struct {
	Prompt     string         `json:"prompt"`
	Name       string         `json:"name,omitempty"` // of the files; defaults to the number of the line
	Model      string         `json:"model,omitempty"`
	Size       imagegen.Ratio `json:"size,omitempty"`
	N          int            `json:"n,omitempty"`
	References []string       `json:"references,omitempty"`

	file   string // name of the files
	digest string // identifies the entry in the ledger
}

const maxBatch = 64 << 20 // bytes of a batch file

// readBatch reads and checks all lines of a batch file; o has what they leave out. Nothing is sent
// if one of them is wrong.
func (o *options) readBatch() ([]*entry, error) {
	f, err := os.Open(o.batch)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBatch+1))
	if err == nil && len(data) > maxBatch {
		err = fmt.Errorf("it has more than %d bytes", maxBatch)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.batch, err)
	}
	var entries []*entry
	same := map[string]int{} // how often each entry came
	line := 0
	for text := range bytes.Lines(data) {
		if line++; len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		e := &entry{Model: o.request.Model, Size: o.request.Size, N: max(o.request.N, 1)}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err = d.Decode(e); err == nil {
			_, err = d.Token()
		}
		if err == nil {
			err = errors.New("more than one JSON value")
		}
		if err == io.EOF {
			err = e.check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", o.batch, line, err)
		}
		canonical, _ := json.Marshal(e)
		sum := sha256.Sum256(canonical)
		e.digest = fmt.Sprintf("%x", sum[:12])
		if same[e.digest]++; same[e.digest] > 1 {
			e.digest += "-" + strconv.Itoa(same[e.digest])
		}
		e.file = cmp.Or(e.Name, fmt.Sprintf("%04d", line))
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s has no lines", o.batch)
	}
	return entries, nil
}

func (e *entry) check() error {
	_, err := imagegen.ParseRatio(string(e.Size))
	switch {
	case strings.TrimSpace(e.Prompt) == "":
		return errors.New("the prompt is empty")
	case len(e.Prompt) > maxPrompt:
		return errors.New("the prompt is longer than 1 MiB")
	case e.N < 1:
		return fmt.Errorf("n is %d", e.N)
	case e.Size != "" && err != nil:
		return err
	case e.Name != filepath.Base(e.Name) && e.Name != "" || strings.ContainsAny(e.Name, `/\{}`):
		return fmt.Errorf("name %q is not a plain file name", e.Name)
	}
	return nil
}

// batch is a run of a batch file.
type batch struct {
	*options
	fresh, resumed *imagegen.Client // for new requests, and for tasks of an earlier run
	bar            *progressbar.ProgressBar
	stdout, stderr io.Writer

	mu     sync.Mutex
	ledger *ledger
	stop   error // why no more entries are sent
	images int   // requested or received so far, also in earlier runs
}

// runBatch sends every entry that no earlier run has sent, and waits for the tasks of those that
// one has.
func (o *options) runBatch(ctx context.Context, stdout, stderr io.Writer) (status int, err error) {
	entries, err := o.readBatch()
	if err != nil {
		return ExitUsage, err
	}
	if err := os.MkdirAll(o.outDir, 0o755); err != nil {
		return ExitFailed, err
	}
	b := &batch{options: o, stdout: stdout, stderr: stderr}
	if b.ledger, err = openLedger(o.outDir); err != nil {
		return ExitFailed, err
	}
	defer func() { err = errors.Join(err, b.ledger.close()) }()
	config := o.config
	if b.fresh, err = imagegen.New(config); err != nil {
		return ExitUsage, err
	}
	config.FirstPoll = -1
	if b.resumed, err = imagegen.New(config); err != nil {
		return ExitUsage, err
	}
	for _, rec := range b.ledger.last {
		b.images += rec.count()
	}
	if terminal(stderr) && !o.quiet {
		b.bar = progressbar.NewOptions(len(entries), progressbar.OptionSetWriter(stderr),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
	}
	next := make(chan *entry)
	var workers sync.WaitGroup
	for range o.parallel {
		workers.Go(func() {
			for e := range next {
				b.perform(ctx, e)
			}
		})
	}
	for _, e := range entries {
		next <- e
	}
	close(next)
	workers.Wait()
	if b.bar != nil {
		_ = b.bar.Finish()
	}
	return b.report(entries)
}

// count returns how many images an entry has requested or received.
func (r record) count() int {
	switch {
	case r.Event == eventDone:
		return len(r.Images)
	case r.Event == eventFailed && !r.Charged:
		return 0
	}
	return r.N
}

// unsure reports whether the entry may have been charged without a result.
func (r record) unsure() bool {
	return r.Event == eventSent || r.Event == eventFailed && r.Charged && !r.Final
}

// perform brings an entry to an end, unless the batch has stopped.
func (b *batch) perform(ctx context.Context, e *entry) {
	rec, send := b.begin(ctx, e)
	switch {
	case send:
		b.end(e, &rec, b.send(ctx, e, &rec))
	case rec.Event == eventTask && ctx.Err() == nil:
		r, err := b.resumed.Wait(ctx, rec.Task, b.sinkOf(e))
		b.end(e, &rec, rec.outcome(r, err))
	}
	if b.bar != nil {
		_ = b.bar.Add(1)
	}
}

// begin returns the last record of an entry, and whether it is to be sent now, which the ledger
// knows then.
func (b *batch) begin(ctx context.Context, e *entry) (rec record, send bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rec = b.ledger.last[e.digest]
	again := rec.Event == eventFailed && !rec.Charged && !rec.Final
	switch {
	case b.stop != nil || ctx.Err() != nil:
		return rec, false
	case rec.Event == "" || again:
		rec = record{Entry: e.digest, Event: eventSent, N: e.N, Key: uuid.NewString()}
	case rec.unsure() && (b.idempotent && rec.Key != "" || b.config.Retry.Ambiguous):
		rec = record{Entry: e.digest, Event: eventSent, N: e.N, Key: rec.Key}
	default:
		return rec, false
	}
	if before := b.ledger.last[e.digest]; b.maxImages > 0 && b.images-before.count()+e.N > b.maxImages {
		b.stop = fmt.Errorf("-max-images %d would be exceeded", b.maxImages)
		return before, false
	}
	b.write(&rec)
	return rec, b.stop == nil
}

// send sends an entry and returns its outcome, that of its task if the service responds with one.
// A request is not interrupted when ctx ends, because it is paid.
func (b *batch) send(ctx context.Context, e *entry, rec *record) error {
	req := &imagegen.Request{Model: e.Model, Prompt: e.Prompt, N: e.N, Size: e.Size}
	if b.idempotent {
		req.IdempotencyKey = rec.Key
	}
	for _, ref := range e.References {
		req.References = append(req.References, reference(ref))
	}
	sink := b.sinkOf(e)
	r, err := b.fresh.Submit(context.WithoutCancel(ctx), req, sink)
	if err == nil && len(r.Images) == 0 {
		rec.Event, rec.Task = eventTask, r.TaskID
		b.mu.Lock()
		b.write(rec)
		b.mu.Unlock()
		r, err = b.fresh.Wait(ctx, r.TaskID, sink)
	}
	return rec.outcome(r, err)
}

// unauthorized reports whether the service refuses the key, and so every entry.
func unauthorized(err error) bool {
	var e *imagegen.Error
	return errors.As(err, &e) && (e.Status == 401 || e.Status == 403)
}

// outcome changes a record to what has come of its request, and returns err.
func (r *record) outcome(result *imagegen.Result, err error) error {
	var wait *imagegen.WaitError
	var task *imagegen.TaskError
	var e *imagegen.Error
	switch {
	case result != nil:
		r.Event, r.Usage = eventDone, result.Usage
		for _, i := range result.Images {
			r.Images = append(r.Images, i.Path)
		}
	case errors.As(err, &wait):
		r.Event, r.Task = eventTask, wait.TaskID
	default:
		failed := errors.As(err, &task)
		r.Event, r.Charged = eventFailed, failed || errors.As(err, &e) && e.MayHaveRun
		r.Final = failed || e != nil && e.Permanent() && (e.Status >= 400 || e.MayHaveRun) && !unauthorized(err)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return err
}

// write adds rec to the ledger. If that fails, the batch stops. b.mu is held.
func (b *batch) write(rec *record) {
	b.images -= b.ledger.last[rec.Entry].count()
	b.images += rec.count()
	if err := b.ledger.add(*rec); err != nil {
		b.stop = err
	}
}

// end records the outcome of an entry, and shows it. After a failure that concerns all entries the
// batch stops.
func (b *batch) end(e *entry, rec *record, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write(rec)
	var later interface{ RetryAfter() time.Duration }
	refused := errors.As(err, &later) && later.RetryAfter() > 0 && rec.Event == eventFailed && !rec.Charged
	if refused || unauthorized(err) {
		b.stop = cmp.Or(b.stop, err)
	}
	if b.bar != nil {
		_ = b.bar.Clear()
	}
	for _, path := range rec.Images {
		if !b.json {
			fmt.Fprintln(b.stdout, path)
		}
	}
	if err != nil {
		fmt.Fprintf(b.stderr, "%s: %v\n", e.file, err)
	} else if b.bar == nil && !b.quiet {
		fmt.Fprintf(b.stderr, "%s: images: %d\n", e.file, len(rec.Images))
	}
}

func (b *batch) sinkOf(e *entry) imagegen.Sink {
	sink := imagegen.Dir(b.outDir, e.file+"-{i}{ext}")
	if b.fit && e.Size != "" {
		return fit.Sink(sink, fit.Config{Ratio: e.Size})
	}
	return sink
}

// summary is the outcome of a batch, over all its runs.
type summary struct {
	Entries int            `json:"entries"`
	Done    int            `json:"done"`
	Failed  int            `json:"failed"`  // or without all images; not sent again if refused or charged
	Charged int            `json:"charged"` // perhaps, although no images came; not sent again
	Left    int            `json:"left"`    // another run continues with them
	Images  int            `json:"images"`
	Usage   map[string]any `json:"usage"` // sums of all numbers
	Exit    int            `json:"exit"`
}

func (b *batch) report(entries []*entry) (status int, err error) {
	s := summary{Entries: len(entries), Usage: map[string]any{}}
	for _, e := range entries {
		rec := b.ledger.last[e.digest]
		s.Images += len(rec.Images)
		var usage map[string]any
		if json.Unmarshal(rec.Usage, &usage) == nil {
			addUsage(s.Usage, usage)
		}
		switch {
		case rec.Event == eventDone && rec.Error == "":
			s.Done++
		case rec.Event == "", rec.Event == eventTask:
			s.Left++
		case rec.unsure():
			s.Charged++
		default:
			s.Failed++
		}
	}
	switch {
	case s.Left > 0:
		s.Exit = ExitResume
	case s.Done < s.Entries || b.stop != nil:
		s.Exit = ExitFailed
	}
	text, _ := json.Marshal(s)
	if b.json {
		fmt.Fprintln(b.stdout, string(text))
	} else if !b.quiet {
		fmt.Fprintln(b.stderr, string(text))
	}
	if s.Charged > 0 {
		fmt.Fprintf(b.stderr, "Of %d entries it is unknown whether they were charged; -ambiguous sends them again.\n",
			s.Charged)
	}
	if s.Left > 0 {
		fmt.Fprintln(b.stderr, "The same command continues where this one stopped.")
	}
	return s.Exit, b.stop
}

// addUsage adds the numbers in usage to those in sum, at any depth.
func addUsage(sum, usage map[string]any) {
	for name, value := range usage {
		switch value := value.(type) {
		case float64:
			before, _ := sum[name].(float64)
			sum[name] = before + value
		case map[string]any:
			inner, ok := sum[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				sum[name] = inner
			}
			addUsage(inner, value)
		}
	}
}
