package imagegen_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

// The fake reports polls that are earlier than the interface allows.
func TestPollingFollowsTheSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async, Duration: 2 * time.Minute})
		began := time.Now()
		_, err := fake.Client(nil).Generate(t.Context(), fox(), imagegen.Memory())
		require.NoError(t, err)
		polls := fake.Counts().Polls
		require.LessOrEqual(t, polls[0].Sub(began), 20*time.Second)
		for i := range polls[1:] {
			require.LessOrEqual(t, polls[i+1].Sub(polls[i]), 5*time.Second)
		}
		require.Less(t, len(polls), 40)
	})
}

func TestTemporaryPollFailuresAreRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async})
		fake.Script(imagegentest.Polls(404, 0, 500, 502, -1, 429, 503, 408, 200))
		began := time.Now()
		r, err := fake.Client(nil).Generate(t.Context(), fox(), imagegen.Memory())
		require.NoError(t, err)
		require.Len(t, r.Images, 1)
		require.Equal(t, 1, fake.Counts().Generations)
		require.InDelta(t, 110*time.Second, time.Since(began), float64(20*time.Second),
			"a poll that is never answered ends after 60 s")
	})
}

func TestPollsThatEndTheWaiting(t *testing.T) {
	t.Parallel()
	for code, resumable := range map[int]bool{401: true, 402: true, 403: true, 400: false, 409: false, 410: false} {
		synctest.Test(t, func(t *testing.T) {
			fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async})
			fake.Script(imagegentest.Polls(code))
			_, err := fake.Client(nil).Generate(t.Context(), fox(), imagegen.Memory())
			e := errorOf[*imagegen.Error](t, err)
			require.Equal(t, code, e.Status)
			require.NotEmpty(t, e.TaskID)
			require.True(t, e.MayHaveRun, "the task was submitted")
			require.Equal(t, 1, e.Attempts)
			var w *imagegen.WaitError
			require.Equal(t, resumable, errors.As(err, &w))
			require.Len(t, fake.Counts().Polls, 1)
		})
	}
}

func TestTaskOutcomes(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, step imagegentest.Step) (*imagegentest.Server, *imagegen.Result, error) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async})
		fake.Script(step)
		r, err := fake.Client(nil).Generate(t.Context(), fox(), imagegen.Memory())
		return fake, r, err
	}
	synctestRun(t, "stuck ends at the limit and can be resumed", func(t *testing.T) {
		began := time.Now()
		fake, _, err := run(t, imagegentest.Stuck())
		w := errorOf[*imagegen.WaitError](t, err)
		require.NotEmpty(t, w.TaskID)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.InDelta(t, 30*time.Minute, time.Since(began), float64(time.Second))
		require.Equal(t, 1, fake.Counts().Generations)
	})
	synctestRun(t, "the limit says why the last poll failed", func(t *testing.T) {
		_, _, err := run(t, imagegentest.Polls(slices.Repeat([]int{500}, 1000)...))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "status 500")
		var poll *imagegen.Error
		require.NotErrorAs(t, err, &poll, "what it tells is not about the task")
	})
	synctestRun(t, "expired URLs are replaced by a poll", func(t *testing.T) {
		fake, r, err := run(t, imagegentest.Expired(9))
		require.NoError(t, err)
		require.Len(t, r.Images, 1)
		require.Equal(t, 2, fake.Counts().Files)
	})
	synctestRun(t, "or fetched again, if that poll fails, and then replaced by the next", func(t *testing.T) {
		poll := `{"data":{"status":"completed","result":{"images":[{"url":"/x"}]}}}`
		_, err := polled(t, poll, "", "", "", poll, string(pngHead)).Generate(t.Context(), fox(), imagegen.Memory())
		require.NoError(t, err)
		_, err = polled(t, append([]string{poll}, make([]string, 2*7)...)...).Generate(t.Context(), fox(),
			imagegen.Memory())
		require.ErrorContains(t, err, "404", "seven tries")
	})
}

// A task that ended without images cannot be resumed, however the service reports it.
func TestTasksThatEndedAreNotResumable(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{ // a poll, and the message of the TaskError, if it is one
		{`{"data":{"status":"completed","result":{"images":[{"error":{"message":"filtered"}},{"error":"too"}]}}}`, ""},
		{`{"data":{"status":"completed","result":{"images":[{"url":[]},{"error":"filtered"}]}}}`, ""},
		{`{"data":{"status":"completed","result":{"images":[]}},"error":"filtered"}`, ""},
		{`{"data":{"status":"failed"},"error":{"message":"filtered"}}`, "filtered"},
		{`{"data":{"status":"failed","error":{"message":"filtered"}},"error":{"message":"filtered"}}`, "filtered"},
		{`{"data":{"status":"failed","result":{"images":[{"error":"too"}]},"error":"filtered"}}`, "filtered"},
		{`{"data":{"status":"failed","error":{}}}`, "the service gave no reason"},
	} {
		poll, message := test[0], test[1]
		synctestRun(t, poll, func(t *testing.T) {
			_, err := polled(t, poll).Generate(t.Context(), fox(), imagegen.Memory())
			var w *imagegen.WaitError
			require.NotErrorAs(t, err, &w)
			if message != "" {
				failed := errorOf[*imagegen.TaskError](t, err)
				require.Equal(t, imagegen.TaskError{ID: "t", Message: message}, *failed)
				return
			}
			require.ErrorIs(t, err, imagegen.ErrNoImages)
			e := errorOf[*imagegen.Error](t, err)
			require.Equal(t, []any{"filtered", true, true, 1},
				[]any{e.Message, e.MayHaveRun, e.Permanent(), e.Attempts})
		})
	}
}

// An empty error is none.
func TestUnknownStatesArePolledAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := polled(t, `{"data":{"status":"warming_up","error":{}},"error":""}`,
			`{"data":{"status":"rendering","result":{"images":[{},{}]}}}`,
			`{"data":{"status":"completed","result":{"images":[{"b64_json":"iVBORw0KGgo="}]}}}`).Generate(t.Context(),
			fox(), imagegen.Memory())
		require.NoError(t, err)
		require.Len(t, r.Images, 1)
		_, err = polled(t, slices.Repeat([]string{`{"data":{"status":"cancelled"}}`}, 999)...).Generate(t.Context(),
			fox(), imagegen.Memory())
		require.ErrorContains(t, err, `did not end within 30m0s: context deadline exceeded; its state is "cancelled"`)
		_, err = polled(t, slices.Repeat([]string{`{"code":5,"msg":"no such task"}`}, 999)...).Generate(t.Context(),
			fox(), imagegen.Memory())
		require.ErrorContains(t, err, `context deadline exceeded; its state is "": no such task`)
	})
}

// polled returns a client of a service that responds with task t, and to its polls, and fetches of
// images, with answers: status 404 for an empty one.
func polled(t *testing.T, answers ...string) *imagegen.Client {
	h := imagegentest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, `{"data":{"id":"t"}}`)
			return
		}
		if answers[0] == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, answers[0])
		answers = answers[1:]
	}))
	client, err := imagegen.New(imagegen.Config{BaseURL: "http://service.test", HTTPClient: h})
	require.NoError(t, err)
	return client
}

func TestCanceledWaitIsResumedByAnotherClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async, Duration: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := fake.Client(nil).Generate(ctx, fox(), imagegen.Memory())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		w := errorOf[*imagegen.WaitError](t, err)

		time.Sleep(time.Minute)
		resumed := time.Now()
		images := imagegen.Memory()
		another := fake.Client(func(c *imagegen.Config) { c.FirstPoll = -1 })
		r, err := another.Wait(t.Context(), w.TaskID, images)
		require.NoError(t, err)
		require.Equal(t, w.TaskID, r.TaskID)
		require.NotEmpty(t, images.Get(0))
		require.Zero(t, time.Since(resumed), "a task known to be old is polled at once")
		require.Equal(t, 1, fake.Counts().Generations)
	})
}

func TestWaitForAnUnknownTaskEndsAtOnce(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	client := fake.Client(func(c *imagegen.Config) { c.FirstPoll = -1 })
	_, err := client.Wait(t.Context(), "../odd?id", imagegen.Memory())
	e := errorOf[*imagegen.Error](t, err)
	require.Equal(t, http.StatusNotFound, e.Status)
	require.True(t, e.Permanent())
}

func TestTaskIDIsReportedBeforeTheFirstPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async})
		var kinds []imagegen.EventKind
		var id string
		r, err := fake.Client(func(c *imagegen.Config) {
			c.OnEvent = func(e imagegen.Event) {
				kinds = append(kinds, e.Kind)
				if e.Kind == imagegen.EventTask {
					id = e.TaskID
					require.Empty(t, fake.Counts().Polls)
				}
				require.Equal(t, "a red fox", e.Request.Prompt)
			}
		}).Generate(t.Context(), fox(), imagegen.Memory())
		require.NoError(t, err)
		require.Equal(t, r.TaskID, id)
		require.Equal(t, []imagegen.EventKind{imagegen.EventAttempt, imagegen.EventTask, imagegen.EventPoll},
			kinds[:3])
		require.Equal(t, imagegen.EventImage, kinds[len(kinds)-1])
	})
}
