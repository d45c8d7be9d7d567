package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/fit"
)

// begin adds a task to the unfinished ones, or returns the job of the one with the same identifier.
func (g *Gateway) begin(t Task) (j *job, fresh bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if j := g.live[t.ID]; j != nil {
		return j, false
	}
	j = &job{caller: t.Caller, done: make(chan struct{})}
	g.live[t.ID] = j
	return j, true
}

// end removes a task from the unfinished ones, and wakes those that wait for it.
func (g *Gateway) end(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if j := g.live[id]; j != nil {
		close(j.done)
		delete(g.live, id)
	}
}

func (g *Gateway) enqueue(id string) {
	g.mu.Lock()
	g.queue = append(g.queue, id)
	g.mu.Unlock()
	g.notify()
}

func (g *Gateway) notify() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// next removes and returns the first task of the queue, or "".
func (g *Gateway) next() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 || !g.open {
		return ""
	}
	id := g.queue[0]
	g.queue = g.queue[1:]
	if len(g.queue) > 0 {
		g.notify() // another worker may be idle
	}
	return id
}

// Run resumes the unfinished tasks of the store and works until ctx ends. From then on it accepts
// no requests; running generations get 30 s to finish, waits for another service's tasks end at
// once and are resumed at the next start, and callers that still wait receive their task. Run may
// be called once.
func (g *Gateway) Run(ctx context.Context) error {
	if g.ran.Swap(true) {
		return errors.New("gateway: Run was called before")
	}
	// generating may outlive ctx for a while; waiting for another service ends with it
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if err := g.resume(work); err != nil {
		return err
	}
	g.mu.Lock()
	g.open = true
	g.mu.Unlock()
	g.notify()
	var workers sync.WaitGroup
	for range g.c.MaxWorkers {
		workers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-g.wake:
				}
				for id := g.next(); id != ""; id = g.next() {
					g.perform(work, ctx, id)
				}
			}
		})
	}
	workers.Go(func() { g.sweep(ctx) })
	<-ctx.Done()
	g.mu.Lock()
	g.open = false
	g.mu.Unlock()
	timer := time.AfterFunc(shutdownTimeout, cancel)
	defer timer.Stop()
	workers.Wait()
	close(g.stopped)
	return nil
}

// resume counts what is stored, and queues the tasks that the last run left unfinished.
func (g *Gateway) resume(ctx context.Context) error {
	var left, ended []Task
	for t, err := range g.c.Store.Tasks(ctx) {
		if err != nil {
			return err
		}
		g.storage.add(t.Caller, true, bytesOf(t.References))
		g.storage.add(t.Caller, false, bytesOf(t.Images))
		if t.State.Done() {
			ended = append(ended, t)
		} else {
			left = append(left, t)
		}
	}
	slices.SortFunc(ended, func(a, b Task) int { return a.Ended.Compare(b.Ended) })
	for _, t := range ended {
		g.storage.end(t)
	}
	slices.SortFunc(left, func(a, b Task) int { return a.Created.Compare(b.Created) })
	for _, t := range left {
		if t.State == imagegen.StateProcessing && t.Upstream == "" && !g.c.Rerun {
			g.finish(ctx, &t, nil, errInterrupted)
			continue
		}
		if t.Upstream == "" && t.Runs >= maxRuns { // a paid task that another service holds is not given up
			g.finish(ctx, &t, nil, errCrashed)
			continue
		}
		g.begin(t)
		g.enqueue(t.ID)
	}
	return nil
}

// maxRuns is how many runs of a task may end with the process before the task fails: it may be
// what ends the process.
const maxRuns = 3

var (
	errInterrupted = errors.New("interrupted by a restart")
	errCrashed     = fmt.Errorf("the process ended during each of %d runs", maxRuns)
	errPanic       = errors.New("the generator panicked")
)

// turn waits until a task may run and returns a function that ends its turn. Tasks run side by
// side, but the last run of one that has been interrupted before is alone, so that it does not fail
// for a task beside it that ends the process. It returns false if ctx ends first.
func (g *Gateway) turn(ctx context.Context, t Task) (end func(), ok bool) {
	if t.Upstream != "" { // it only waits
		return func() {}, true
	}
	weight := int64(1)
	if t.Runs+1 >= maxRuns {
		weight = int64(g.c.MaxWorkers)
	}
	if err := g.runs.Acquire(ctx, weight); err != nil {
		return nil, false
	}
	return sync.OnceFunc(func() { g.runs.Release(weight) }), true
}

// perform carries out a task. wait ends when Run is stopped, work after the shutdown timeout.
func (g *Gateway) perform(work, wait context.Context, id string) {
	t, err := g.c.Store.Task(work, id)
	if err != nil {
		g.c.Logger.Error("load task", "task", id, "error", err)
		g.end(id)
		return
	}
	endTurn, ok := g.turn(wait, t)
	if !ok {
		return // it runs after the next start
	}
	defer endTurn()
	t.State = imagegen.StateProcessing
	t.Runs++                                              // before the run, which may end the process
	if err := g.c.Store.UpdateTask(work, t); err != nil { // leave the task for the next start, unpaid
		g.c.Logger.Error("store task", "task", id, "error", err)
		g.end(id)
		return
	}
	began := now()
	sink := &taskSink{g: g, id: id, caller: t.Caller, open: map[*taskBlob]struct{}{}}
	result, err := g.generate(work, wait, &t, g.convert(sink, t.Format), endTurn)
	t.Images = sink.close()
	if again := (*imagegen.WaitError)(nil); errors.As(err, &again) && t.Upstream != "" {
		resumed := wait.Err() != nil // at the next start
		if resumed || now().Sub(t.Created) < g.c.Retention {
			t.Runs = 0
			if err := g.c.Store.UpdateTask(context.WithoutCancel(work), t); err != nil {
				g.c.Logger.Error("store task", "task", id, "error", err)
			}
			if resumed {
				return
			}
			g.c.Logger.Warn("waiting again for the generator's task", "task", id, "upstream", t.Upstream, "error", err)
			time.AfterFunc(time.Minute, func() { g.enqueue(id) })
			return
		}
	}
	if err != nil && result == nil && work.Err() != nil && t.Upstream == "" {
		err = errors.Join(errInterrupted, err)
	}
	g.finish(context.WithoutCancel(work), &t, result, err)
	g.c.Logger.LogAttrs(work, slog.LevelInfo, "task ended", slog.String("task", id),
		slog.String("state", string(t.State)), slog.Int("images", len(t.Images)),
		slog.Duration("elapsed", now().Sub(began)))
}

// convert returns a sink that stores images in sink, in a format if that is not empty. Images that
// cannot be converted are paid as well, and stored as they are.
func (g *Gateway) convert(sink *taskSink, format string) imagegen.Sink {
	if format == "" {
		return sink
	}
	return fit.Sink(sink, fit.Config{Type: "image/" + format, OnUncropped: func(i imagegen.Info, err error) {
		g.c.Logger.Warn("image not converted", "task", sink.id, "index", i.Index, "format", format, "error", err)
	}})
}

// generate calls the generator, in the resumable way if it is a Submitter, and ends the turn of a
// task that waits for another service. It returns errPanic if the generator panics.
func (g *Gateway) generate(
	work, wait context.Context, t *Task, sink imagegen.Sink, endTurn func(),
) (r *imagegen.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			g.c.Logger.Error("the generator panicked", "task", t.ID, "panic", p, "stack", string(debug.Stack()))
			r, err = nil, errPanic
		}
	}()
	req := &imagegen.Request{Model: t.Model, Prompt: t.Prompt, N: t.N, Size: t.Size}
	for _, ref := range t.References {
		req.References = append(req.References, g.reference(work, ref))
	}
	sub, ok := g.c.Generator.(Submitter)
	if !ok {
		return g.c.Generator.Generate(work, req, sink)
	}
	if t.Upstream == "" {
		r, err := sub.Submit(work, req, sink)
		var unfetched *imagegen.WaitError // the task has ended, but its images could not be fetched
		switch {
		case err == nil && r != nil && len(r.Images) == 0:
			t.Upstream = r.TaskID
		case r == nil && errors.As(err, &unfetched):
			t.Upstream = unfetched.TaskID
		}
		if t.Upstream == "" {
			return r, err
		}
		if err := g.c.Store.UpdateTask(context.WithoutCancel(work), *t); err != nil {
			g.c.Logger.Error("store the generator's task", "task", t.ID, "upstream", t.Upstream, "error", err)
		}
	}
	endTurn()
	return sub.Wait(wait, t.Upstream, sink)
}

// finish stores the outcome of a task, and deletes its references.
func (g *Gateway) finish(ctx context.Context, t *Task, r *imagegen.Result, err error) {
	t.State, t.Ended = imagegen.StateCompleted, now()
	if partial := (*imagegen.PartialError)(nil); errors.As(err, &partial) && r != nil && len(r.Images) > 0 {
		t.Errors = map[int]string{}
		for i, e := range partial.Failed {
			t.Errors[i] = explain(e).Message
		}
		err = nil
	}
	switch {
	case err == nil && (r == nil || len(r.Images) == 0):
		err = imagegen.ErrNoImages
		fallthrough
	case err != nil:
		t.State, t.Failure = imagegen.StateFailed, explain(err)
		g.c.Logger.Warn("task failed", "task", t.ID, "code", t.Failure.Code, "error", err)
		g.deleteBlobs(ctx, t.Caller, t.Images)
		t.Images = nil
	default:
		t.Usage = r.Usage.Raw
		for _, info := range r.Images {
			if info.Index < len(t.Images) {
				t.Images[info.Index].Prompt = info.Prompt
			}
		}
	}
	refs := t.References
	t.References = nil
	if err := g.c.Store.UpdateTask(ctx, *t); err != nil {
		g.c.Logger.Error("store task", "task", t.ID, "error", err)
	} else {
		g.deleteBlobs(ctx, t.Caller, refs)
		g.storage.end(*t)
	}
	g.end(t.ID)
}

// codeFull is the code of what does not fit into the storage.
const codeFull = "storage_full"

// codeUnavailable is the code of a task that failed before anything was generated and may be
// retried.
const codeUnavailable = "unavailable"

// codeInternal is the code of a task whose generator panicked or ended the process.
const codeInternal = "internal"

// explain returns the Failure for a generator's error: only the service's own message is
// passed on, and everything else is logged.
func explain(err error) *Failure {
	var (
		task  *imagegen.TaskError
		e     *imagegen.Error
		final interface{ Permanent() bool }
		away  interface{ RetryAfter() time.Duration }
	)
	mayHaveRun := errors.As(err, &e) && e.MayHaveRun
	f := &Failure{Code: "failed", Message: "the generation failed"}
	switch {
	case errors.As(err, &task):
		f = &Failure{Code: "generation_failed", Message: task.Message}
	case errors.Is(err, imagegen.ErrNoImages):
		f = &Failure{Code: "no_images", Message: "no images were generated; the request may have been filtered"}
	case errors.Is(err, errFull):
		f = &Failure{Code: codeFull, Message: "the images were generated, but the gateway cannot store as many bytes"}
	case errors.Is(err, errPanic), errors.Is(err, errCrashed):
		f = &Failure{Code: codeInternal, Message: "an internal error ended the generation; it may have been charged"}
	case errors.Is(err, errInterrupted):
		f = &Failure{Code: "interrupted", Message: "a restart interrupted the generation; it may have been charged"}
	case errors.As(err, &final) && final.Permanent():
		f = &Failure{Code: "refused", Message: "the generator refused the request"}
	case errors.As(err, &away) && away.RetryAfter() > 0 && !mayHaveRun:
		f = &Failure{Code: codeUnavailable, Message: "the generator is not available", RetryAfter: away.RetryAfter()}
	case mayHaveRun:
		f.Message += "; it may have been charged"
	}
	if e != nil && e.Message != "" {
		f.Message += ": " + e.Message
	}
	return f
}

// sweep deletes tasks whose retention is over.
func (g *Gateway) sweep(ctx context.Context) {
	ticker := time.NewTicker(max(g.c.Retention/24, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for t, err := range g.c.Store.Tasks(ctx) {
			if err != nil {
				g.c.Logger.Error("list tasks", "error", err)
				continue
			}
			if t.State.Done() && now().Sub(t.Ended) > g.c.Retention && g.storage.forget(t.ID) {
				g.deleteTask(ctx, t)
			}
		}
	}
}
