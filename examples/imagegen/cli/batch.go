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
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

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

	line   int
	file   string // name of the files
	digest string // identifies the entry in the ledger
	text   string // likewise, without what the flags have added
	tried  bool   // by this run
}

const (
	maxBatch = 64 << 20 // bytes of a batch file
	maxName  = 240      // of 255 that a file name may have; what Dir adds has the others
)

// readBatch reads and checks all lines of a batch file; o has what they leave out. Nothing is sent
// if one of them is wrong.
func (o *options) readBatch() ([]*entry, error) {
	f, err := os.Open(o.batch)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBatch+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBatch {
		return nil, fmt.Errorf("%s: it has more than %d bytes", o.batch, maxBatch)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is not UTF-8: save it with this encoding", o.batch)
	}
	var entries []*entry
	same := map[string]int{} // how often each entry came
	line := 0
	for text := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) { // as some editors begin a file
		if line++; len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		e := &entry{Model: o.request.Model, Size: o.request.Size, N: max(o.request.N, 1)}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err = d.Decode(e); err == nil {
			_, err = d.Token()
		} else {
			err = fmt.Errorf(`%w; a line is an object such as {"prompt": "a fox"}, with straight quotation marks`, err)
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
		var own entry
		_ = json.Unmarshal(text, &own)
		e.line, e.digest, e.text = line, digest(e), digest(&own)
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

func digest(e *entry) string {
	canonical, _ := json.Marshal(e)
	sum := sha256.Sum256(canonical)
	return fmt.Sprintf("%x", sum[:12])
}

func (e *entry) check() error {
	_, err := imagegen.ParseRatio(string(e.Size))
	switch {
	case strings.TrimSpace(e.Prompt) == "":
		return errors.New("the prompt is empty")
	case len(e.Prompt) > maxPrompt:
		return errors.New("the prompt is longer than 1 MiB")
	case strings.ContainsRune(e.Prompt, utf8.RuneError):
		return errors.New("the prompt has U+FFFD, or half of an escaped character such as \\ud83d: some text was lost")
	case e.N < 1:
		return fmt.Errorf("n is %d", e.N)
	case e.Size != "" && err != nil:
		return err
	case e.Name != filepath.Base(e.Name) && e.Name != "" || strings.ContainsAny(e.Name, "/\\{}\r\n"):
		return fmt.Errorf("name %q is not a plain file name", e.Name)
	case len(e.Name) > maxName:
		return fmt.Errorf("the name has %d bytes, at most %d", len(e.Name), maxName)
	}
	return nil
}

type batch struct {
	*options
	fresh, resumed *imagegen.Client // for new requests, and for tasks of an earlier run
	barShown       bool
	stdout, stderr io.Writer

	mu     sync.Mutex
	bar    *progressbar.ProgressBar
	ledger *ledger
	failed int           // requests in a row
	stop   error         // why no more entries are sent
	halted chan struct{} // closed with stop
}

// halt stops the batch because of err, if that is not nil. b.mu is held.
func (b *batch) halt(err error) {
	if err != nil && b.stop == nil {
		b.stop = err
		close(b.halted)
	}
}

// runBatch sends every entry that no earlier run has sent, and waits for the tasks of those that
// one has.
func (o *options) runBatch(ctx context.Context, stdout, stderr io.Writer) (status int, err error) {
	b := &batch{options: o, stdout: stdout, stderr: stderr, halted: make(chan struct{})}
	old := o.config
	old.FirstPoll = -1
	entries, err := o.readBatch()
	if err == nil {
		b.fresh, err = imagegen.New(o.config)
	}
	if err == nil {
		b.resumed, err = imagegen.New(old)
	}
	if err != nil {
		return ExitUsage, err
	}
	if b.ledger, err = openLedger(o.outDir); err != nil {
		return ExitFailed, err
	}
	defer func() { err = errors.Join(err, b.ledger.close()) }()
	for _, e := range entries {
		if err := b.check(e); err != nil {
			return ExitUsage, fmt.Errorf("%s, line %d: %w", o.batch, e.line, err)
		}
	}
	file, ok := stderr.(*os.File)
	b.barShown = ok && term.IsTerminal(int(file.Fd())) && !o.quiet
	b.bar = progressbar.NewOptions(len(entries), progressbar.OptionSetWriter(stderr),
		progressbar.OptionSetVisibility(b.barShown), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		b.mu.Lock()
		defer b.mu.Unlock()
		_ = b.bar.Clear()
		if !b.quiet {
			fmt.Fprintln(stderr, "Nothing more is sent. Responses are waited for, as they are paid; tasks go on.")
		}
	})
	var group errgroup.Group
	group.SetLimit(o.parallel)
	for _, e := range entries {
		group.Go(func() error {
			b.perform(ctx, e)
			return nil
		})
	}
	_ = group.Wait()
	if !stop() {
		<-told
	}
	return b.report(entries)
}

// check returns an error if a reference of an entry that is to be sent is missing, or if the entry
// would be paid for once more only because a flag was left out that an earlier run had.
func (b *batch) check(e *entry) error {
	was, sent := b.ledger.lines[e.text]
	last, known := b.ledger.last[e.digest]
	for _, s := range e.References {
		if _, isFile := reference(s); isFile && last.unsent() {
			if _, err := os.Stat(s); err != nil {
				return err
			}
		}
	}
	same := was.Size == e.Size && was.Model == e.Model && was.N == e.N
	if known || same || !sent || was.Event == eventFailed && !was.Charged {
		return nil
	}
	return fmt.Errorf("it was sent with -size %q, -model %q and -n %d: repeat these flags, or use another -out to "+
		"send all lines again", was.Size, was.Model, was.N)
}

// perform brings an entry to an end, unless that has happened or the batch has stopped.
func (b *batch) perform(ctx context.Context, e *entry) {
	sink := imagegen.Dir(b.outDir, e.file+"-{i}{ext}")
	if b.fit && e.Size != "" {
		sink = fit.Sink(sink, fit.Config{Ratio: e.Size, OnUncropped: func(i imagegen.Info, err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			_ = b.bar.Clear()
			fmt.Fprintf(b.stderr, "%s: image %d is not cropped: %v\n", e.file, i.Index+1, err)
		}})
	}
	for {
		rec, ok := b.begin(ctx, e)
		if !ok {
			break
		}
		e.tried = true
		var r *imagegen.Result
		var err error
		if rec.Event == eventSent {
			r, err = b.send(ctx, e, &rec, sink)
		} else {
			r, err = b.resumed.Wait(ctx, rec.Task, sink)
		}
		stopped := rec.Event == eventTask && ctx.Err() != nil || errors.Is(err, imagegen.ErrStore)
		if r != nil && r.TaskID != "" && err != nil && stopped { // another run fetches all images
			r, err = nil, &imagegen.WaitError{TaskID: r.TaskID, Err: err}
		}
		pause := b.end(e, rec, r, err)
		if pause == 0 {
			break
		}
		select {
		case <-ctx.Done():
		case <-b.halted:
		case <-time.After(pause):
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.bar.Add(1)
}

// begin returns the record of an entry that is now to be sent, which the ledger knows then, or
// whose task is to be waited for; ok is false if there is nothing to do.
func (b *batch) begin(ctx context.Context, e *entry) (rec record, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.ledger.last[e.digest]
	rec = record{Entry: e.digest, Event: eventSent, Name: e.file, Line: e.text, Model: e.Model, Size: e.Size, N: e.N}
	if b.idempotent {
		rec.Key = uuid.NewString()
	}
	switch {
	case b.stop != nil || ctx.Err() != nil:
		return rec, false
	case last.Event == eventTask:
		return last, true
	case last.unsent():
	case last.unsure() && b.idempotent && last.Key != "":
		rec.Key, rec.Charged = last.Key, true
	default:
		return rec, false
	}
	if b.maxImages > 0 && (rec.Key == "" || rec.Key != last.Key) && b.ledger.requested+e.N > b.maxImages {
		b.halt(fmt.Errorf("-max-images %d would be exceeded", b.maxImages))
		return rec, false
	}
	b.halt(b.ledger.add(rec))
	return rec, b.stop == nil
}

// send sends an entry, and waits for its task if the service responds with one. A request is not
// interrupted when ctx ends, because it is paid.
func (b *batch) send(
	ctx context.Context, e *entry, rec *record, sink imagegen.Sink,
) (*imagegen.Result, error) {
	req := &imagegen.Request{Model: e.Model, Prompt: e.Prompt, N: e.N, Size: e.Size, IdempotencyKey: rec.Key}
	for _, s := range e.References {
		ref, _ := reference(s)
		req.References = append(req.References, ref)
	}
	r, err := b.fresh.Submit(context.WithoutCancel(ctx), req, sink)
	if err != nil || len(r.Images) > 0 {
		return r, err
	}
	rec.Event, rec.Task = eventTask, r.TaskID
	b.mu.Lock()
	b.halt(b.ledger.add(*rec))
	b.mu.Unlock()
	return b.fresh.Wait(ctx, r.TaskID, sink)
}

// end records and shows what has come of an entry. After a failure that concerns all entries the
// batch stops. pause is after what time the entry is to be sent again, if it was not accepted now.
func (b *batch) end(e *entry, rec record, r *imagegen.Result, err error) (pause time.Duration) {
	wait, waiting := errors.AsType[*imagegen.WaitError](err)
	_, failed := errors.AsType[*imagegen.TaskError](err)
	refused, _ := errors.AsType[*imagegen.Error](err)
	stop := errors.Is(err, imagegen.ErrStore) || refused != nil && concernsAll(refused)
	switch {
	case r != nil:
		rec.Event, rec.Usage, rec.Charged = eventDone, r.Usage, false
		for _, i := range r.Images {
			rec.Images = append(rec.Images, i.Path)
		}
	case waiting:
		rec.Event, rec.Task = eventTask, wait.TaskID
	case rec.Event == eventTask && refused != nil && refused.Status == 404 && refused.Code == "":
		// It may be the address that is wrong: a service says that it does not know the task.
	case failed:
		rec.Event, rec.Charged, rec.Final = eventFailed, true, true
	default:
		mayHaveRun := refused != nil && refused.MayHaveRun
		rec.Event, rec.Charged = eventFailed, rec.Charged || mayHaveRun
		if refused != nil && refused.Op != "reference" && !stop {
			rec.Final = refused.Permanent() && (refused.Status >= 400 || mayHaveRun)
			if rec.Again = !refused.Permanent() && !mayHaveRun; rec.Again {
				pause = refused.RetryAfter()
			}
		}
	}
	if rec.Error = ""; err != nil { // of an earlier run
		rec.Error = err.Error()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r != nil, errors.Is(err, imagegen.ErrModerated):
		b.failed = 0
	case failed, refused != nil && refused.Op != "reference":
		b.failed++
	}
	switch {
	case stop, pause > time.Minute:
		b.halt(err)
	case b.failed > b.parallel: // more than a moment without the service breaks
		b.halt(fmt.Errorf("%d requests in a row failed, the last with: %w", b.failed, err))
	}
	b.halt(b.ledger.add(rec))
	_ = b.bar.Clear()
	for _, path := range rec.Images {
		if !b.json {
			fmt.Fprintln(b.stdout, path)
		}
	}
	if err != nil {
		fmt.Fprintf(b.stderr, "%s: %v\n", e.file, err)
	} else if !b.barShown && !b.quiet {
		fmt.Fprintf(b.stderr, "%s: images: %d\n", e.file, len(rec.Images))
	}
	if b.stop != nil {
		return 0
	}
	return pause
}

// concernsAll reports whether a service or proxy refuses the key, the account or the address, and
// so every request, and not what is in this one, or images are where they may not be fetched.
func concernsAll(e *imagegen.Error) bool {
	switch {
	case errors.Is(e, imagegen.ErrModerated), e.Op == "reference":
		return false
	case e.Op == "fetch":
		return errors.Is(e, imagegen.ErrBlockedAddress)
	}
	switch e.Status {
	case 401, 402, 403, 407:
		return true
	case 404, 405:
		return e.Op != "poll"
	}
	return e.Status >= 300 && e.Status < 400 || strings.HasPrefix(e.Code, "billing_") // OpenAI's, of status 400
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
		case b.left(rec):
			s.Left++
			continue
		case rec.unsure():
			s.Charged++
		default:
			s.Failed++
		}
		if rec.Event == eventSent {
			rec.Error = "it was being sent when a run was ended"
		}
		if rec.Error != "" && !rec.unsent() && !e.tried {
			fmt.Fprintf(b.stderr, "%s: not sent again: %s\n", e.file, rec.Error)
		}
	}
	again := b.stop == nil
	if e, ok := errors.AsType[*imagegen.Error](b.stop); ok {
		again = !e.Permanent() && !concernsAll(e) && !errors.Is(b.stop, imagegen.ErrStore)
	}
	switch {
	case s.Left > 0 && again:
		s.Exit = ExitResume
	case s.Done < s.Entries || b.stop != nil:
		s.Exit = ExitFailed
	}
	text, _ := json.Marshal(s)
	out := b.stderr
	if b.json {
		out = b.stdout
	}
	fmt.Fprintln(out, string(text))
	if s.Charged > 0 {
		fmt.Fprintf(b.stderr, "Of %d entries it is unknown whether they were charged: a changed line is sent again "+
			"and paid for; -idempotent sends those again that were sent with it, and pays once.\n", s.Charged)
	}
	return s.Exit, b.stop
}

// left reports whether another run would continue with an entry.
func (b *batch) left(r record) bool {
	switch {
	case r.unsure():
		return b.idempotent && r.Key != ""
	case r.Event == eventFailed:
		return r.Again
	}
	return r.Event == "" || r.Event == eventTask
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
