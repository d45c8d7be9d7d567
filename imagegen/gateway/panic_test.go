package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
)

// broken is a Generator that stores one image, leaves another open and panics, except for the
// prompt "fine".
type broken struct{}

func (broken) Generate(
	ctx context.Context, req *imagegen.Request, sink imagegen.Sink,
) (*imagegen.Result, error) {
	result, err := fixed{size: 600}.Generate(ctx, req, sink)
	if req.Prompt == "fine" || err != nil {
		return result, err
	}
	b, err := sink.Open(ctx, imagegen.Info{Index: 1, Type: "image/png", Ext: ".png"})
	if err != nil {
		return nil, err
	}
	if _, err := b.Write(make([]byte, 300)); err != nil {
		return nil, err
	}
	panic("secret of the generator")
}

// brokenWait is a Submitter whose Wait panics.
type brokenWait struct{ broken }

func (brokenWait) Submit(context.Context, *imagegen.Request, imagegen.Sink) (*imagegen.Result, error) {
	return &imagegen.Result{TaskID: "upstream"}, nil
}

func (brokenWait) Wait(context.Context, string, imagegen.Sink) (*imagegen.Result, error) {
	panic("secret of the generator")
}

func TestPanicOfTheGeneratorFailsItsTaskOnly(t *testing.T) {
	t.Parallel()
	for name, generator := range map[string]gateway.Generator{
		"Generate": broken{}, "Wait": brokenWait{},
	} {
		bubble(t, name, func(t *testing.T) {
			var log bytes.Buffer
			path := t.TempDir()
			h := running(t, gateway.Config{
				Generator: generator, Mode: gateway.Sync, Store: openDir(t, path), Rerun: true,
				Limits: gateway.Limits{StoredBytes: 1000, Burst: 100},
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			for range 3 { // what the panics left open takes no room
				a := send(t, h, "POST", generations, `{"prompt":"x"}`, nil)
				require.Equal(t, 500, a.Code)
				require.Equal(t, "internal", a.errorCode())
				require.NotContains(t, a.Body.String(), "secret")
				require.Empty(t, files(t, path))
			}
			synctest.Wait() // the end of a task is logged after its response
			require.Contains(t, log.String(), "secret of the generator")
			require.Contains(t, log.String(), "panic_test.go", "the stack is logged")
			if name == "Generate" {
				require.Equal(t, 200, send(t, h, "POST", generations, `{"prompt":"fine"}`, nil).Code)
			}
		})
	}
}

// startAndCrash runs a gateway whose process ends while its tasks run.
func startAndCrash(t *testing.T, c gateway.Config, path string, use func(client *imagegen.Client)) {
	c.Store = &crashing{openDir(t, path)}
	client, stop := serve(t, c)
	use(client)
	synctest.Wait()
	stop()
}

func TestTaskThatEndsTheProcessIsNotRerunForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		generator := &hanging{}
		config := gateway.Config{Generator: generator, Mode: gateway.Async, Rerun: true}
		var task string
		startAndCrash(t, config, path, func(client *imagegen.Client) {
			sent, err := client.Submit(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
			require.NoError(t, err)
			task = sent.TaskID
		})
		for range 4 {
			startAndCrash(t, config, path, func(*imagegen.Client) {})
		}
		require.EqualValues(t, 3, generator.calls.Load())
		config.Store = openDir(t, path)
		client, _ := serve(t, config)
		_, err := client.Wait(t.Context(), task, imagegen.Memory())
		require.ErrorContains(t, err, "an internal error ended the generation")
	})
}

// ending is a Generator for which each run takes a minute, except that of the prompt "culprit",
// which lasts until the process ends.
type ending struct{ running, most atomic.Int32 }

func (e *ending) Generate(
	ctx context.Context, req *imagegen.Request, sink imagegen.Sink,
) (*imagegen.Result, error) {
	e.most.Store(max(e.most.Load(), e.running.Add(1)))
	defer e.running.Add(-1)
	if req.Prompt == "culprit" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	select {
	case <-time.After(time.Minute):
		return fixed{size: 10}.Generate(ctx, req, sink)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Tasks that ran beside one that ends the process do not fail with it: their last runs are alone.
func TestTasksBesideOneThatEndsTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		var tasks []string
		crash := func(use func(client *imagegen.Client)) (most int32) {
			generator, store := &ending{}, &powerless{Store: openDir(t, path)}
			client, stop := serve(t, gateway.Config{
				Generator: generator, Mode: gateway.Async, Rerun: true, MaxWorkers: 3, Store: store,
			})
			use(client)
			store.off.Store(true)
			stop()
			return generator.most.Load()
		}
		require.EqualValues(t, 3, crash(func(client *imagegen.Client) {
			for _, prompt := range []string{"one", "culprit", "two"} {
				sent, err := client.Submit(t.Context(), &imagegen.Request{Prompt: prompt}, imagegen.Memory())
				require.NoError(t, err)
				tasks = append(tasks, sent.TaskID)
			}
			synctest.Wait()
		}))
		require.EqualValues(t, 3, crash(func(*imagegen.Client) { synctest.Wait() }))
		for range 2 { // the culprit keeps those after it waiting until the next start
			require.LessOrEqual(t, crash(func(*imagegen.Client) { time.Sleep(5 * time.Minute) }), int32(1))
		}
		crash(func(client *imagegen.Client) {
			for i, task := range tasks {
				_, err := client.Wait(t.Context(), task, imagegen.Memory())
				if i == 1 {
					require.ErrorContains(t, err, "an internal error ended the generation")
				} else {
					require.NoError(t, err)
				}
			}
		})
	})
}

// patient is a Submitter whose task ends after the given time.
type patient struct {
	fixed
	ends time.Time
}

func (*patient) Submit(context.Context, *imagegen.Request, imagegen.Sink) (*imagegen.Result, error) {
	return &imagegen.Result{TaskID: "upstream"}, nil
}

func (p *patient) Wait(ctx context.Context, id string, sink imagegen.Sink) (*imagegen.Result, error) {
	select {
	case <-time.After(time.Until(p.ends)):
		return p.Generate(ctx, nil, sink)
	case <-ctx.Done():
		return nil, &imagegen.WaitError{TaskID: id, Err: io.ErrUnexpectedEOF}
	}
}

func TestOrderlyRestartsDoNotCountAsCrashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		generator := &patient{fixed{size: 10}, time.Now().Add(10 * time.Minute)}
		config := gateway.Config{Generator: generator, Mode: gateway.Async}
		var task string
		for i := range 10 {
			config.Store = openDir(t, path)
			client, stop := serve(t, config)
			if i == 0 {
				sent, err := client.Submit(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
				require.NoError(t, err)
				task = sent.TaskID
			}
			synctest.Wait()
			stop()
		}
		config.Store = openDir(t, path)
		client, _ := serve(t, config)
		_, err := client.Wait(t.Context(), task, imagegen.Memory())
		require.NoError(t, err)
	})
}

// powerless is a Store that loses every update once the machine is off.
type powerless struct {
	gateway.Store
	off atomic.Bool
}

func (p *powerless) UpdateTask(ctx context.Context, t gateway.Task) error {
	if p.off.Load() {
		return errors.New("the machine is off")
	}
	return p.Store.UpdateTask(ctx, t)
}

// A task that another service holds is paid: however often the process ends, it is not given up.
func TestPaidTaskThatWaitsSurvivesCrashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		generator := &patient{fixed{size: 10}, time.Now().Add(10 * time.Minute)}
		var task string
		for i := range 5 {
			store := &powerless{Store: openDir(t, path)}
			client, stop := serve(t, gateway.Config{Generator: generator, Mode: gateway.Async, Store: store})
			if i == 0 {
				sent, err := client.Submit(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
				require.NoError(t, err)
				task = sent.TaskID
			}
			synctest.Wait()
			store.off.Store(true)
			stop()
		}
		client, _ := serve(t, gateway.Config{Generator: generator, Mode: gateway.Async, Store: openDir(t, path)})
		_, err := client.Wait(t.Context(), task, imagegen.Memory())
		require.NoError(t, err)
	})
}

// restless is a Generator that panics while a goroutine of its own goes on storing images.
type restless struct {
	goOn chan struct{}
	errs chan error
}

func (r restless) Generate(ctx context.Context, _ *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error) {
	b, err := sink.Open(ctx, imagegen.Info{Type: "image/png", Ext: ".png"})
	if err != nil {
		return nil, err
	}
	go func() {
		<-r.goOn
		_, err := b.Write(make([]byte, 300))
		r.errs <- err
		r.errs <- b.Commit()
		_, err = sink.Open(ctx, imagegen.Info{Index: 1, Type: "image/png", Ext: ".png"})
		r.errs <- err
		_ = b.Abort()
		close(r.errs)
	}()
	panic("lost")
}

func TestGoroutinesOfAGeneratorThatPanickedStoreNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		generator := restless{make(chan struct{}), make(chan error)}
		h := running(t, gateway.Config{Generator: generator, Mode: gateway.Sync, Store: openDir(t, path)})
		require.Equal(t, 500, send(t, h, "POST", generations, `{"prompt":"x"}`, nil).Code)
		close(generator.goOn)
		for err := range generator.errs {
			require.ErrorContains(t, err, "the task has ended")
		}
		require.Empty(t, files(t, path))
	})
}
