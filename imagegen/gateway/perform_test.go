package gateway_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/imagegentest"
)

// fixed is a Generator of one image with a fixed number of bytes.
type fixed struct {
	size  int
	delay time.Duration
}

func (f fixed) Generate(ctx context.Context, _ *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error) {
	time.Sleep(f.delay)
	b, err := sink.Open(ctx, imagegen.Info{Type: "image/png", Ext: ".png"})
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(b, io.LimitReader(rand.Reader, int64(f.size))); err != nil {
		return nil, fmt.Errorf("store: %w", errors.Join(err, b.Abort()))
	}
	return &imagegen.Result{Images: []imagegen.Info{{}}}, b.Commit()
}

// panicking is a Generator that stores one image and panics, except for the prompt "fine".
type panicking struct{}

func (panicking) Generate(
	ctx context.Context, req *imagegen.Request, sink imagegen.Sink,
) (*imagegen.Result, error) {
	result, err := fixed{size: 600}.Generate(ctx, req, sink)
	if req.Prompt == "fine" {
		return result, err
	}
	panic("secret of the generator")
}

// attempt performs a task in its own goroutine, which a crash ends: it returns false then. stored
// has what the next attempt finds.
func attempt(t *testing.T, p gateway.Performer, stored *gateway.Task, n int, save func(gateway.Progress) error) bool {
	t.Helper()
	task, ended := *stored, make(chan error)
	go func() {
		defer close(ended)
		ended <- p.Perform(t.Context(), &task, n, save)
	}()
	err, ok := <-ended
	require.NoError(t, err)
	return ok
}

// crashing performs a task, again after a crash: that of the given number of Progress saved, before
// or after it was stored.
func crashing(t *testing.T, p gateway.Performer, crash int, afterStored bool) gateway.Task {
	t.Helper()
	stored := gateway.Task{ID: "7", Created: time.Now(), Params: gateway.Params{Prompt: "x"}}
	saves := 0
	save := func(progress gateway.Progress) error {
		saves++
		if saves != crash || afterStored {
			stored.Progress = progress
		}
		if saves == crash {
			runtime.Goexit()
		}
		return nil
	}
	for n := 1; !attempt(t, p, &stored, n, save); n++ {
		require.Less(t, n, 3)
	}
	return stored
}

// Whenever the process ends, a paid prompt is sent once, and the service's task is resumed.
func TestNothingIsPaidTwice(t *testing.T) {
	t.Parallel()
	for mode, name := range map[imagegentest.Mode]string{imagegentest.Sync: "sync", imagegentest.Async: "async"} {
		for crash := range 4 {
			for _, afterStored := range []bool{false, true} {
				bubble(t, fmt.Sprint(name, " ", crash, " ", afterStored), func(t *testing.T) {
					fake := imagegentest.New(t, imagegentest.Options{Mode: mode})
					p := gateway.Performer{Generator: fake.Client(nil), Files: openFiles(t, t.TempDir(), 0)}
					task := crashing(t, p, crash, afterStored)
					require.LessOrEqual(t, fake.Counts().Generations, 1)
					if task.Failure != nil {
						require.Equal(t, "interrupted", task.Failure.Code)
						require.NotZero(t, crash)
					} else {
						require.Len(t, task.Images, 1)
					}
				})
			}
		}
	}
}

// ending is a Generator that ends the process.
type ending struct{ calls int }

func (e *ending) Generate(context.Context, *imagegen.Request, imagegen.Sink) (*imagegen.Result, error) {
	e.calls++
	runtime.Goexit()
	return nil, nil
}

func TestTaskThatEndsTheProcessIsNotRerunForEver(t *testing.T) {
	t.Parallel()
	generator := &ending{}
	p := gateway.Performer{Generator: generator, Files: openFiles(t, t.TempDir(), 0), Rerun: true}
	var stored gateway.Task
	save := func(progress gateway.Progress) error { stored.Progress = progress; return nil }
	for n := 1; !attempt(t, p, &stored, n, save); n++ {
		require.Less(t, n, 10)
	}
	require.Equal(t, 3, generator.calls)
	require.Equal(t, gateway.CodeInternal, stored.Failure.Code)
}

// submitter is a Submitter whose tasks are named after their prompts. They cannot be fetched while
// stuck returns true.
type submitter struct {
	fixed
	stuck func(id string) bool
}

func (submitter) Submit(_ context.Context, r *imagegen.Request, _ imagegen.Sink) (*imagegen.Result, error) {
	return &imagegen.Result{TaskID: r.Prompt}, nil
}

func (s submitter) Wait(ctx context.Context, id string, sink imagegen.Sink) (*imagegen.Result, error) {
	if s.stuck(id) {
		return nil, &imagegen.WaitError{TaskID: id, Err: io.ErrUnexpectedEOF}
	}
	return s.Generate(ctx, nil, sink)
}

// A service's task is paid: it is not given up because it could not be fetched, for a day.
func TestPaidTaskIsWaitedForAgain(t *testing.T) {
	t.Parallel()
	for waits, code := range map[int]int{10: 200, 2000: 502} {
		bubble(t, fmt.Sprint(waits), func(t *testing.T) {
			calls := 0
			stuck := func(string) bool { calls++; return calls < waits }
			h := running(t, setup{Config: config(gateway.Sync), generator: submitter{fixed{size: 10}, stuck}})
			began := time.Now()
			require.Equal(t, code, send(t, h, "POST", generations, `{"prompt":"x"}`, nil).Code)
			require.Equal(t, min(time.Duration(waits-1)*time.Minute, 24*time.Hour), time.Since(began))
		})
	}
}

// missing is a Submitter of tasks that lack an image.
type missing struct {
	submitter
	err error
}

func (m missing) Wait(ctx context.Context, _ string, sink imagegen.Sink) (*imagegen.Result, error) {
	r, err := m.Generate(ctx, nil, sink)
	return r, errors.Join(err, m.err)
}

// Nor because the process stopped while it was fetched, or its service does not have it now.
func TestPaidTaskThatIsNotFetchedIsNotEnded(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	gone := &imagegen.Error{Op: "fetch", Status: 404}
	for _, test := range []struct {
		ctx context.Context
		err error
	}{
		{stopped, &imagegen.PartialError{Failed: map[int]error{1: gone}}},
		{stopped, &imagegen.WaitError{Err: gone}},
		{t.Context(), &imagegen.WaitError{Err: gone}},
	} {
		task := gateway.Task{Created: time.Now(), Progress: gateway.Progress{Started: true, Upstream: "x"}}
		p := gateway.Performer{Generator: missing{submitter{fixed: fixed{size: 10}}, test.err},
			Files: openFiles(t, t.TempDir(), 0)}
		err := p.Perform(test.ctx, &task, 2, func(gateway.Progress) error { return nil })
		var final interface{ Permanent() bool }
		require.ErrorAs(t, err, &final)
		require.False(t, final.Permanent(), "a queue performs it again")
		require.Zero(t, task.Ended)
	}
}

// A caller who was told that the generator is not available would send the request again.
func TestPaidTaskThatIsGivenUpMayHaveBeenCharged(t *testing.T) {
	t.Parallel()
	for _, last := range []int{429, 503} {
		bubble(t, fmt.Sprint(last), func(t *testing.T) {
			fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async})
			fake.Script(imagegentest.Polls(slices.Repeat([]int{last}, 1000)...))
			client := fake.Client(nil)
			sent, err := client.Submit(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
			require.NoError(t, err)
			requireGivenUp(t, client, sent.TaskID)
		})
	}
	bubble(t, "no room", func(t *testing.T) {
		requireGivenUp(t, unstorable{}, "x")
	})
}

// unstorable is a Submitter whose tasks cannot be stored.
type unstorable struct{ submitter }

func (unstorable) Wait(_ context.Context, id string, _ imagegen.Sink) (*imagegen.Result, error) {
	return nil, &imagegen.WaitError{TaskID: id, Err: imagegen.ErrStore}
}

// requireGivenUp waits a last time for a generator's task that was accepted a day ago.
func requireGivenUp(t *testing.T, g gateway.Generator, upstream string) {
	t.Helper()
	task := gateway.Task{
		Created:  time.Now().Add(-24 * time.Hour),
		Progress: gateway.Progress{Started: true, Upstream: upstream},
	}
	p := gateway.Performer{Generator: g, Files: openFiles(t, t.TempDir(), 0)}
	require.NoError(t, p.Perform(t.Context(), &task, 2, func(gateway.Progress) error { return nil }))
	require.NotEqual(t, gateway.CodeUnavailable, task.Failure.Code)
	require.Contains(t, task.Failure.Message, "it may have been charged")
}

func TestTasksThatCannotBeFetchedDoNotStopOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := func(id string) bool { return id == "stuck" }
		h := running(t, setup{Config: config(gateway.Async), generator: submitter{fixed{size: 10}, stuck}})
		var ids []string
		for _, prompt := range []string{"stuck", "stuck", "stuck", "fine"} { // by two workers
			a := send(t, h, "POST", generations, `{"prompt":"`+prompt+`"}`, nil)
			require.Equal(t, 200, a.Code)
			ids = append(ids, a.data()["id"].(string))
			synctest.Wait()
		}
		state := func(id string) any { return send(t, h, "GET", "/v1/tasks/"+id, "", nil).data()["status"] }
		require.Equal(t, "completed", state(ids[3]))
		require.Equal(t, "processing", state(ids[0]))
		time.Sleep(25 * time.Hour)
		require.Equal(t, "failed", state(ids[0]))
	})
}

// A task is not another one's of the same process, nor of the one before.
func TestTasksOfAProcessThatEndedAreNotFound(t *testing.T) {
	t.Parallel()
	old, running := gateway.NewMemoryTasks(gateway.Performer{}, 1), gateway.NewMemoryTasks(gateway.Performer{}, 1)
	id, _, err := old.Add(t.Context(), gateway.Params{})
	require.NoError(t, err)
	_, _, err = running.Add(t.Context(), gateway.Params{})
	require.NoError(t, err)
	_, err = running.Task(t.Context(), id)
	require.ErrorIs(t, err, gateway.ErrNotFound)
}

// A disk that is full or gone is found before the request is paid, or at least named afterwards.
func TestImagesThatCannotBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fake := imagegentest.New(t, imagegentest.Options{Image: func(imagegentest.Post, int) []byte {
			require.NoError(t, os.RemoveAll(dir))
			return pngHead
		}})
		h := running(t, setup{Config: config(gateway.Sync), generator: fake.Client(nil), files: openFiles(t, dir, 0)})
		for _, test := range []struct {
			status  int
			code    string
			message string
		}{
			{507, "storage_full", "the gateway could not store the images; it may have been charged"},
			{503, gateway.CodeUnavailable, "the gateway could not store the images"},
			{503, gateway.CodeUnavailable, "the gateway could not store the images"},
		} {
			a := send(t, h, "POST", generations, `{"prompt":"x"}`, nil)
			require.Equal(t, test.status, a.Code)
			require.Equal(t, test.code, a.errorCode())
			require.Equal(t, test.message, a.body["error"].(map[string]any)["message"])
		}
		require.Equal(t, 1, fake.Counts().Generations)
	})
}

func TestNothingIsSentThatIsNotSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{})
		p := gateway.Performer{Generator: fake.Client(nil), Files: openFiles(t, t.TempDir(), 0)}
		err := p.Perform(t.Context(), &gateway.Task{Params: gateway.Params{Prompt: "x"}}, 1,
			func(gateway.Progress) error { return io.ErrClosedPipe })
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.Zero(t, fake.Counts().Generations)
	})
}
