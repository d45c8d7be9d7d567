package cloud_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/cloud"
)

// saved keeps the names of tasks.
type saved struct {
	mu    sync.Mutex
	names []string
	fail  int
}

func (s *saved) save(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail > 0 {
		s.fail--
		return errors.New("database down")
	}
	s.names = append(s.names, name)
	return nil
}

func TestTaskIsCreatedOnceAcrossARestart(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	s.SetFault(taskSlow)
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	var row saved
	ctx, cancel := context.WithCancel(t.Context())
	audio.SaveTask = func(ctx context.Context, name string) error {
		if !pending(name) {
			cancel() // the program stops as soon as the name is stored
		}
		return row.save(ctx, name)
	}
	_, err := connect(t, account(nil, s, cloud.Task)).Recognize(ctx, audio)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, row.names, 2)
	require.True(t, pending(row.names[0]))
	require.LessOrEqual(t, len(row.names[1]), 255)

	s.SetFault(asrtest.NoFault)
	audio.Task = row.names[1]
	audio.SaveTask = row.save
	for _, mode := range []cloud.Mode{cloud.Task, cloud.Flash} { // the mode may have been changed meanwhile
		got, err := connect(t, account(nil, s, mode)).Recognize(t.Context(), audio)
		require.NoError(t, err)
		require.Equal(t, asrtest.Heard(asrtest.WAV(time.Second)), got.Text)
		require.Equal(t, time.Second, got.Duration)
		require.Equal(t, []asr.Segment{
			{Start: 0, End: 500 * time.Millisecond, Text: "heard 32044 bytes"},
			{Start: 500 * time.Millisecond, End: time.Second, Text: got.Text[len("heard 32044 bytes "):]},
		}, got.Segments)
	}
	require.Equal(t, 1, s.Tasks())
	require.Len(t, row.names, 2)
}

// pending reports whether the name is that of a task whose number is not known yet.
func pending(name string) bool { return strings.HasSuffix(name, "/0") }

// TestLostTaskIsReplacedOnce: a program died while it created a task, which is paid for perhaps.
func TestLostTaskIsReplacedOnce(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	rec := connect(t, account(nil, s, cloud.Task))
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	s.SetFault(taskSlow)
	died := func(times int) string {
		var row saved
		ctx, cancel := context.WithCancel(t.Context())
		audio.SaveTask = func(ctx context.Context, name string) error {
			cancel() // before the request
			return row.save(ctx, name)
		}
		_, err := rec.Recognize(ctx, audio)
		require.ErrorIs(t, err, context.Canceled)
		require.Len(t, row.names, 1)
		require.True(t, pending(row.names[0]))
		require.Contains(t, row.names[0], "/"+itoa(int64(times))+"/0")
		return row.names[0]
	}
	audio.Task = died(1)
	audio.Task = died(2)
	row := saved{names: []string{audio.Task}}
	audio.SaveTask = row.save
	s.SetFault(asrtest.NoFault)
	_, err := rec.Recognize(t.Context(), audio)
	e, _ := errors.AsType[*asr.Error](err)
	require.True(t, e.Permanent(), err)
	require.Equal(t, "the recognition was interrupted; it can be retried", e.PublicText())
	require.Empty(t, row.names[len(row.names)-1])
	require.Zero(t, s.Tasks())

	audio.Task = ""
	_, err = rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, 1, s.Tasks())
}

// TestRefusedTaskIsNotLost: an error of the cloud's is certain, and the next task is the first.
func TestRefusedTaskIsNotLost(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	var row saved
	audio.SaveTask = row.save
	for _, fault := range []asrtest.Fault{apiCode("FailedOperation.UserHasNoAmount"), asrtest.Gateway} {
		s.SetFault(fault)
		_, err := connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
		require.Error(t, err)
		require.Empty(t, row.names[len(row.names)-1])
	}
}

// TestUnreadableAnswerIsATaskThatMayBePaid: the third time no further one is created.
func TestUnreadableAnswerIsATaskThatMayBePaid(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	s.SetFault(asrtest.HTML)
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	var row saved
	audio.SaveTask = row.save
	for times := range 2 {
		_, err := connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
		require.ErrorIs(t, err, asr.ErrLost)
		require.Zero(t, err.(*asr.Error).RetryAfter(), "it is counted")
		audio.Task = row.names[len(row.names)-1]
		require.True(t, strings.HasSuffix(audio.Task, "/"+itoa(int64(times+1))+"/0"), audio.Task)
	}
	_, err := connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
	require.Equal(t, "transcription_interrupted", err.(*asr.Error).PublicCode())
	require.Len(t, s.Requests(), 2)
}

// TestRefusedSecondTaskDoesNotHideTheFirst: otherwise two more tasks would be paid for.
func TestRefusedSecondTaskDoesNotHideTheFirst(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	rec := connect(t, account(nil, s, cloud.Task))
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	var row saved
	audio.SaveTask = func(ctx context.Context, name string) error {
		if pending(name) && strings.Contains(name, "/2/") {
			s.SetFault(apiCode("FailedOperation.UserHasNoAmount"))
		}
		return row.save(ctx, name)
	}
	s.SetFault(taskFails)
	_, err := rec.Recognize(t.Context(), audio)
	require.Error(t, err)
	audio.Task = row.names[len(row.names)-1]
	require.NotEmpty(t, audio.Task)
	require.False(t, pending(audio.Task))

	s.SetFault(taskFails)
	_, err = rec.Recognize(t.Context(), audio)
	require.Error(t, err)
	require.Equal(t, 1, s.Tasks(), "the second one was refused again")
}

func TestTaskNameIsSavedAgainWhenThatFails(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	row := saved{fail: 2}
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	audio.SaveTask = row.save
	_, err := connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Len(t, row.names, 1)
	require.Equal(t, 1, s.Tasks())
}

func TestTaskTimeoutDoesNotCountAsAnAttempt(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	s.SetFault(taskSlow)
	cfg := account(nil, s, cloud.Task)
	cfg.RequestTimeout = 200 * time.Millisecond
	var row saved
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	audio.SaveTask = row.save
	_, err := connect(t, cfg).Recognize(t.Context(), audio)
	require.ErrorIs(t, err, asr.ErrUnavailable)
	e, _ := errors.AsType[*asr.Error](err)
	require.GreaterOrEqual(t, e.RetryAfter(), 30*time.Second)
	require.Len(t, row.names, 2)
}

func TestUnknownTaskIsReplaced(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	var row saved
	audio.SaveTask = row.save
	now := time.Now()
	for name, known := range map[string]bool{
		"tencent-asr/" + itoa(now.Unix()) + "/1/4711":                       true,  // requested, but unknown
		"tencent-asr/" + itoa(now.Add(-25*time.Hour).Unix()) + "/1/4712":    false, // too old to be requested
		"another recogniser's":                                              false,
		"tencent-asr/x/1/1":                                                 false,
		"tencent-asr/" + itoa(now.Unix()) + "/1/99999999999999999999999999": false,
	} {
		audio.Task = name
		before := len(s.Requests())
		tasks := s.Tasks()
		_, err := connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
		require.NoError(t, err, name)
		require.Equal(t, tasks+1, s.Tasks(), name)
		first := s.Requests()[before].Path
		require.Equal(t, known, first == "DescribeTaskStatus", name)
	}
}

// The second task of a recording may be unknown, too. Its name must not be used forever.
func TestUnknownSecondTaskIsDropped(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	audio.Task = "tencent-asr/" + itoa(time.Now().Unix()) + "/2/4711"
	row := saved{names: []string{audio.Task}}
	audio.SaveTask = row.save
	_, err := connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
	require.Error(t, err)
	require.Empty(t, row.names[len(row.names)-1])
	audio.Task = ""
	_, err = connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, 1, s.Tasks())
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestFailedTaskIsRetriedOnceThenTheAudioIsUnusable(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	var row saved
	audio.SaveTask = row.save
	s.SetFault(taskFailsOnce)
	_, err := connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, 2, s.Tasks())

	s.SetFault(taskFails)
	_, err = connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
	require.ErrorIs(t, err, asr.ErrUnusableAudio)
	require.ErrorContains(t, err, "audio decoding failed")
	require.Equal(t, 4, s.Tasks())
	require.Empty(t, row.names[len(row.names)-1], "a retry by a user creates a new task")
}

func TestPollingSurvivesAnUnavailableCloud(t *testing.T) {
	t.Parallel()
	s := newAPI(t)
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	audio.SaveTask = func(_ context.Context, name string) error {
		if pending(name) {
			return nil
		}
		s.SetFault(asrtest.Gateway)
		time.AfterFunc(50*time.Millisecond, func() { s.SetFault(asrtest.NoFault) })
		return nil
	}
	_, err := connect(t, account(nil, s, cloud.Task)).Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, 1, s.Tasks())
}
