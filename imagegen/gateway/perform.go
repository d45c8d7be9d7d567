package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/fit"
)

// Generator generates images; imagegen.Client and draw.Generator implement it. Generate stores n
// images in sink, by index, and returns what is known of them, possibly beside a
// *imagegen.PartialError. Its errors may have the methods Permanent() bool and RetryAfter()
// time.Duration. If Generate panics, its task fails with [CodeInternal] and the stack is logged; a
// panic in a goroutine that it has started ends the process, as in any program.
type Generator interface {
	Generate(ctx context.Context, req *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error)
}

// Submitter is a Generator whose work can be resumed by an identifier, as imagegen.Client's can. If
// Submit returns a Result without images, Wait returns those of its TaskID.
type Submitter interface {
	Generator
	Submit(ctx context.Context, req *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error)
	Wait(ctx context.Context, taskID string, sink imagegen.Sink) (*imagegen.Result, error)
}

// Performer performs tasks. Generator and Files are required. It is safe for concurrent use.
type Performer struct {
	// Generator generates the images.
	Generator Generator

	// Files has the references and receives the images.
	Files *Files

	// Rerun repeats generations that were interrupted by a crash. Set it only if generating is
	// free.
	Rerun bool

	// Logger receives a line for each task that has ended, without its prompt. If nil, nothing is
	// logged.
	Logger *slog.Logger
}

const (
	maxAttempts  = 3               // of a task that Rerun repeats: it may be what ends the process
	waitAgain    = time.Minute     // after waiting for another service's task was given up
	waitOperator = 5 * time.Minute // Retry-After of what the operator has to mend
	maxUpstream  = 24 * time.Hour  // for which another service's task is waited for
	internalText = "an internal error ended the generation; it may have been charged"
)

var (
	errInterrupted = errors.New("interrupted by a restart")
	errCrashed     = fmt.Errorf("the process ended during each of %d attempts", maxAttempts)
	errPanic       = errors.New("the generator panicked")
)

// waitError says to perform a task again, to wait for another service's task.
type waitError struct{ error }

func (waitError) RetryAfter() time.Duration { return waitAgain }
func (waitError) Permanent() bool           { return false } // although an error in it may be
func (e waitError) Unwrap() error           { return e.error }

// Perform performs t, or continues to perform it. attempt counts the calls for this task from 1,
// without those that were interrupted in order. Perform changes the Progress of t and calls save
// after each change: before it sends a request, as soon as another service has accepted it, and in
// the end. save must have stored it durably when it returns, so that after a crash no request is
// sent again that may have been charged.
//
// If Perform returns nil, the task has ended, and its Failure says whether it failed. Otherwise it
// has to be performed again: after the RetryAfter of the error, if the error has this method.
func (p Performer) Perform(ctx context.Context, t *Task, attempt int, save func(Progress) error) error {
	if !t.Ended.IsZero() {
		return nil
	}
	interrupted := t.Started && t.Upstream == ""
	switch {
	case interrupted && !p.Rerun:
		return p.end(t, nil, nil, errInterrupted, save)
	case interrupted && attempt > maxAttempts:
		return p.end(t, nil, nil, errCrashed, save)
	case !t.Started:
		t.Started = true
		if err := save(t.Progress); err != nil {
			t.Started = false
			return err
		}
	}
	images := &taskSink{files: p.Files, id: t.ID}
	result, err := p.generate(ctx, t, p.convert(images, t), save)
	_, unfetched := errors.AsType[*imagegen.WaitError](err)
	switch {
	case err != nil && t.Upstream != "" && ctx.Err() != nil: // even if some of its images are stored
		return waitError{err}
	case unfetched && t.Upstream != "" && time.Since(t.Created) < maxUpstream:
		p.log().Warn("waiting again for the generator's task", "task", t.ID, "upstream", t.Upstream, "error", err)
		return waitError{err}
	case err != nil && result == nil && ctx.Err() != nil:
		if p.Rerun {
			return err
		}
		err = errors.Join(errInterrupted, err)
	}
	return p.end(t, images.take(), result, err, save)
}

// convert returns a sink that stores images in the format of t, if that is not empty. Images that
// cannot be converted are paid as well, and stored as they are.
func (p Performer) convert(sink imagegen.Sink, t *Task) imagegen.Sink {
	if t.Format == "" {
		return sink
	}
	return fit.Sink(sink, fit.Config{Type: "image/" + t.Format, OnUncropped: func(i imagegen.Info, err error) {
		p.log().Warn("image not converted", "task", t.ID, "index", i.Index, "format", t.Format, "error", err)
	}})
}

func (p Performer) log() *slog.Logger { return logger(p.Logger) }

// generate calls the generator, in the resumable way if it is a Submitter. It returns errPanic if
// the generator panics.
func (p Performer) generate(
	ctx context.Context, t *Task, sink imagegen.Sink, save func(Progress) error,
) (r *imagegen.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.log().Error("the generator panicked", "task", t.ID, "panic", v, "stack", string(debug.Stack()))
			r, err = nil, errPanic
		}
	}()
	req := &imagegen.Request{Model: t.Model, Prompt: t.Prompt, N: t.N, Size: t.Size}
	for _, ref := range t.References {
		open := func() (io.ReadCloser, error) { return p.Files.open(ref.Name) }
		req.References = append(req.References, imagegen.Source(ref.Original, ref.Size, open).Type(ref.Type))
	}
	service, ok := p.Generator.(Submitter)
	if !ok {
		return p.Generator.Generate(ctx, req, sink)
	}
	if t.Upstream == "" {
		r, err := service.Submit(ctx, req, sink)
		if err == nil && r != nil && len(r.Images) == 0 {
			t.Upstream = r.TaskID
		} else if e, ok := errors.AsType[*imagegen.WaitError](err); ok && r == nil {
			t.Upstream = e.TaskID // the task has ended, but its images could not be fetched
		}
		if t.Upstream == "" {
			return r, err
		}
		if err := save(t.Progress); err != nil {
			p.log().Error("save the generator's task", "task", t.ID, "upstream", t.Upstream, "error", err)
		}
	}
	return service.Wait(ctx, t.Upstream, sink)
}

// end saves how a task has ended, and deletes its references.
func (p Performer) end(t *Task, images []File, r *imagegen.Result, err error, save func(Progress) error) error {
	t.Ended, t.Images = time.Now(), images
	if partial, ok := errors.AsType[*imagegen.PartialError](err); ok && r != nil && len(r.Images) > 0 {
		t.Errors = map[int]string{}
		for i, e := range partial.Failed {
			t.Errors[i] = explain(e).Message
		}
		err = nil
	}
	if err == nil && (r == nil || len(r.Images) == 0) {
		err = imagegen.ErrNoImages
	}
	if err != nil {
		t.Failure, t.Images = explain(err), nil
		p.log().Warn("task failed", "task", t.ID, "code", t.Failure.Code, "error", err)
	} else {
		t.Usage = r.Usage
		for _, info := range r.Images {
			if info.Index < len(t.Images) {
				t.Images[info.Index].Prompt = info.Prompt
			}
		}
		p.log().Info("task completed", "task", t.ID, "images", len(r.Images), "elapsed", t.Ended.Sub(t.Created))
	}
	if err := save(t.Progress); err != nil {
		return err
	}
	if t.Failure != nil {
		p.Files.remove(images)
	}
	p.Files.remove(t.References)
	return nil
}

// taskSink stores the images of a task.
type taskSink struct {
	files *Files
	id    string

	mu     sync.Mutex
	images []File // by index
}

// Prepare checks that the disk has room for n images: once they are paid it would be too late.
func (s *taskSink) Prepare(_ context.Context, n int) error {
	return s.files.hasRoom(int64(max(n, 1)) << 20)
}

func (s *taskSink) Open(_ context.Context, info imagegen.Info) (imagegen.Blob, error) {
	if info.Index < 0 || info.Index > 1000 {
		return nil, fmt.Errorf("unexpected image index %d", info.Index)
	}
	name := fmt.Sprintf("%s-%d%s", s.id, info.Index, info.Ext)
	file, err := s.files.create(temporaryPrefix, name)
	if err != nil {
		return nil, err
	}
	return &taskImage{file, s, info.Index, File{Name: name, Type: info.Type}}, nil
}

// take returns the images. Those that a goroutine of the generator commits later do not count.
func (s *taskSink) take() []File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.images)
}

type taskImage struct {
	*newFile
	sink  *taskSink
	index int
	file  File
}

func (i *taskImage) Commit() error {
	if err := i.newFile.Commit(); err != nil {
		return err
	}
	i.sink.mu.Lock()
	defer i.sink.mu.Unlock()
	for len(i.sink.images) <= i.index {
		i.sink.images = append(i.sink.images, File{})
	}
	i.file.Size = i.size
	i.sink.images[i.index] = i.file
	return nil
}

// explain returns the Failure for a generator's error: only the service's own message is passed on,
// and everything else is logged.
func explain(err error) *Failure {
	var (
		final interface{ Permanent() bool }
		retry interface{ RetryAfter() time.Duration }
	)
	e, _ := errors.AsType[*imagegen.Error](err)
	_, waited := errors.AsType[*imagegen.WaitError](err) // for a task, which is charged
	mayHaveRun := waited || e != nil && e.MayHaveRun
	task, failed := errors.AsType[*imagegen.TaskError](err)
	f := &Failure{Code: "failed", Message: "the generation failed"}
	switch {
	case errors.Is(err, imagegen.ErrModerated):
		f = &Failure{Code: "moderation_blocked", Message: "the generator's content filter refused the request"}
		if failed {
			f.Message += ": " + task.Message
		}
	case failed:
		f = &Failure{Code: "generation_failed", Message: task.Message}
	case errors.Is(err, imagegen.ErrNoImages):
		f = &Failure{Code: "no_images", Message: "no images were generated; the request may have been filtered"}
	case errors.Is(err, errFull):
		f = &Failure{Code: codeFull, Message: "the images were generated, but the gateway cannot store as many bytes"}
	case errors.Is(err, imagegen.ErrStore):
		f = &Failure{Code: codeFull, Message: "the gateway could not store the images"}
		if mayHaveRun {
			f.Message += "; it may have been charged"
		} else {
			f.Code, f.RetryAfter = CodeUnavailable, waitOperator
		}
	case errors.Is(err, errPanic), errors.Is(err, errCrashed):
		f = &Failure{Code: CodeInternal, Message: internalText}
	case errors.Is(err, errInterrupted):
		f = &Failure{Code: "interrupted", Message: "a restart interrupted the generation; it may have been charged"}
	case e != nil && !mayHaveRun && e.Status >= 401 && e.Status <= 403 && e.Op != "fetch" && e.Op != "reference":
		// The gateway's own key or account: the words about it are not for callers.
		return &Failure{Code: CodeUnavailable, Message: "the generator is not available", RetryAfter: waitOperator}
	case errors.As(err, &final) && final.Permanent() && !mayHaveRun:
		f = &Failure{Code: "refused", Message: "the generator refused the request"}
	case errors.As(err, &retry) && retry.RetryAfter() > 0 && !mayHaveRun:
		f = &Failure{Code: CodeUnavailable, Message: "the generator is not available", RetryAfter: retry.RetryAfter()}
	case mayHaveRun:
		f.Message += "; it may have been charged"
	}
	if e != nil && e.Message != "" {
		f.Message += ": " + e.Message
	}
	return f
}
