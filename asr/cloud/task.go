package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	tchttp "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/http"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

// taskLifetime is how long the name of a task is valid. The cloud keeps results for 24 hours, and
// may reuse the number of a task on another day.
const taskLifetime = 23 * time.Hour

// cloudTask is a task in the cloud. Its name contains the time, which tells tasks with the same
// number apart, and how many tasks were created for the recording.
type cloudTask struct {
	id      uint64 // 0: perhaps created, and its number lost
	created time.Time
	attempt int
}

func (t cloudTask) String() string {
	return fmt.Sprintf("tencent-asr/%d/%d/%d", t.created.Unix(), t.attempt, t.id)
}

func parseTask(name string) (cloudTask, bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[0] != "tencent-asr" {
		return cloudTask{}, false
	}
	created, err1 := strconv.ParseInt(parts[1], 10, 64)
	attempt, err2 := strconv.Atoi(parts[2])
	id, err3 := strconv.ParseUint(parts[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || created < 0 || attempt < 1 {
		return cloudTask{}, false
	}
	return cloudTask{id: id, created: time.Unix(created, 0).UTC(), attempt: attempt}, true
}

type createRequest struct {
	*tchttp.BaseRequest
	EngineModelType string
	ChannelNum      uint64
	ResTextFormat   uint64
	SourceType      uint64
	Data            []byte // base64 in JSON
	DataLen         int
	HotwordList     *string `json:",omitempty"`
}

type createResponse struct {
	*tchttp.BaseResponse
	Response struct {
		Data *struct{ TaskId uint64 }
	}
}

type describeRequest struct {
	*tchttp.BaseRequest
	TaskId uint64
}

type describeResponse struct {
	*tchttp.BaseResponse
	Response struct {
		Data *taskStatus
	}
}

// taskStatus is the state of a task.
type taskStatus struct {
	Status        int64 // 0 waiting, 1 doing, 2 success, 3 failed
	ErrorMsg      string
	Result        string
	AudioDuration float64 // seconds
}

const (
	taskOp      = "task"
	maxAttempts = 2 // tasks for one recording, where the first has failed
)

// task creates a task unless one is running, and waits for the result.
func (r *Recognizer) task(
	ctx context.Context, src *provider.Source, audio asr.Audio, running *cloudTask,
) (asr.Transcript, error) {
	attempt, saved := 1, ""
	if running != nil {
		attempt, saved = running.attempt, running.String()
	}
	if running != nil && running.id == 0 {
		r.base.Log().WarnContext(ctx, "a task may have been created, and its number was lost; creating another one")
		running = nil
		if attempt++; attempt > maxAttempts {
			r.save(ctx, audio, "") // so that a retry by a user creates a new task
			return asr.Transcript{}, &asr.Error{Op: taskOp, Message: "no task was created", Err: interrupted{}}
		}
	}
	for {
		if running == nil {
			t, err := r.create(ctx, src, audio, attempt, saved)
			if err != nil {
				return asr.Transcript{}, err
			}
			running, saved = &t, t.String()
		}
		status, err := r.wait(ctx, *running, audio)
		switch e, _ := errors.AsType[*asr.Error](err); {
		case err == nil && status.Status == statusSuccess:
			return status.transcript(), nil
		case e != nil && e.Code == noSuchTask:
			r.base.Log().WarnContext(ctx, "the cloud does not know a task; creating another one",
				"task", running.String())
			if attempt++; attempt > maxAttempts {
				r.save(ctx, audio, "") // so that the next call creates a new task
				return asr.Transcript{}, err
			}
		case err != nil:
			return asr.Transcript{}, err
		default:
			message := provider.Excerpt(status.ErrorMsg, audio)
			if attempt++; attempt > maxAttempts {
				r.save(ctx, audio, "") // so that a retry by a user creates a new task
				return asr.Transcript{}, provider.Unusable(taskOp, "the task failed: "+message)
			}
			r.base.Log().WarnContext(ctx, "a task failed; creating another one",
				"task", running.String(), "message", message)
		}
		running = nil
		again, err := r.open(ctx, audio, true)
		if err != nil {
			return asr.Transcript{}, err
		}
		defer again.Close()
		src = again
	}
}

// interrupted is the cause of the failure of a recording for which no further task is created.
type interrupted struct{}

func (interrupted) Error() string      { return "interrupted as often as tasks may be paid for" }
func (interrupted) Permanent() bool    { return true }
func (interrupted) PublicText() string { return "the recognition was interrupted; it can be retried" }
func (interrupted) PublicCode() string { return "transcription_interrupted" }

// create sends the recording and returns the new task. In the meantime a name without a number is
// saved; if there is no task, again the one saved before, which counts the tasks paid for.
func (r *Recognizer) create(
	ctx context.Context, src *provider.Source, audio asr.Audio, attempt int, saved string,
) (cloudTask, error) {
	if err := checkLimits(taskOp, taskFormat(src.Info), src, taskBytes, 0); err != nil {
		return cloudTask{}, err
	}
	data, err := io.ReadAll(src)
	if err != nil {
		return cloudTask{}, err
	}
	request := &createRequest{
		BaseRequest: apiRequest("CreateRecTask"), EngineModelType: r.cfg.engineFor(audio.Language),
		ChannelNum: 1, ResTextFormat: 0, SourceType: 1, Data: data, DataLen: len(data),
		HotwordList: hotWords(audio.Words),
	}
	response := &createResponse{BaseResponse: &tchttp.BaseResponse{}}
	t := cloudTask{created: time.Now().UTC().Truncate(time.Second), attempt: attempt}
	r.save(ctx, audio, t.String())
	if err := r.call(ctx, taskOp, request, response, audio); err != nil {
		e, _ := errors.AsType[*asr.Error](err)
		mayExist := e != nil && e.Status == http.StatusOK // the answer cannot be read
		if ctx.Err() == nil && !mayExist {
			r.save(ctx, audio, saved)
		}
		return cloudTask{}, err
	}
	if response.Response.Data == nil || response.Response.Data.TaskId == 0 {
		return cloudTask{}, incomplete(taskOp, "TaskId")
	}
	t.id = response.Response.Data.TaskId
	return t, nil
}

// save passes the name of a task to Audio.SaveTask, and reports success.
func (r *Recognizer) save(ctx context.Context, audio asr.Audio, name string) bool {
	if audio.SaveTask == nil {
		return true
	}
	if err := audio.SaveTask(ctx, name); err != nil {
		r.base.Log().WarnContext(ctx, "the name of a task was not saved; it will be tried again",
			"task", name, "error", err)
		return false
	}
	return true
}

const (
	noSuchTask    = "FailedOperation.NoSuchTask"
	statusSuccess = 2
	statusFailed  = 3
)

// wait polls the task until it is done, also while the cloud is unavailable.
func (r *Recognizer) wait(ctx context.Context, t cloudTask, audio asr.Audio) (*taskStatus, error) {
	saved := audio.Task == t.String() || r.save(ctx, audio, t.String())
	for pause := r.cfg.PollInterval; ; pause = min(pause*3/2, 8*r.cfg.PollInterval) {
		select {
		case <-ctx.Done():
			return nil, &asr.Error{Op: taskOp, Err: ctx.Err()}
		case <-time.After(pause):
		}
		if !saved {
			saved = r.save(ctx, audio, t.String())
		}
		request := &describeRequest{BaseRequest: apiRequest("DescribeTaskStatus"), TaskId: t.id}
		response := &describeResponse{BaseResponse: &tchttp.BaseResponse{}}
		err := r.call(ctx, taskOp, request, response, audio)
		e, _ := errors.AsType[*asr.Error](err)
		switch {
		case ctx.Err() != nil:
			return nil, &asr.Error{Op: taskOp, Err: ctx.Err()}
		case errors.Is(err, asr.ErrUnavailable), errors.Is(err, asr.ErrLost),
			e != nil && e.Class == nil && e.Code != noSuchTask:
			continue
		case err != nil:
			return nil, err
		case response.Response.Data == nil:
			return nil, incomplete(taskOp, "Data")
		}
		if s := response.Response.Data; s.Status == statusSuccess || s.Status == statusFailed {
			return s, nil
		}
	}
}

// timeMark is the start, the end and, from some engines, the speaker.
var timeMark = regexp.MustCompile(`^\[(\d+):(\d+)\.(\d+),(\d+):(\d+)\.(\d+)(?:,\d+)?\]\s*`)

// transcript parses the lines of the result with their time marks.
func (s *taskStatus) transcript() asr.Transcript {
	t := asr.Transcript{Duration: milliseconds(int64(s.AudioDuration * 1000))}
	var lines []string
	for line := range strings.Lines(s.Result) {
		m := timeMark.FindStringSubmatch(line)
		if m == nil {
			lines = append(lines, line)
			continue
		}
		text := strings.TrimSpace(line[len(m[0]):])
		lines = append(lines, text)
		t.Segments = append(t.Segments, asr.Segment{Start: mark(m[1:4]), End: mark(m[4:7]), Text: text})
	}
	if len(lines) != len(t.Segments) {
		t.Segments = nil // some lines have no times
	}
	t.Text = asr.JoinText(lines...)
	return t
}

// mark parses minutes, seconds and the digits after the decimal point.
func mark(p []string) time.Duration {
	minutes, _ := strconv.Atoi(p[0])
	seconds, _ := strconv.ParseFloat(p[1]+"."+p[2], 64)
	return milliseconds(int64(minutes)*60000 + int64(seconds*1000+0.5))
}
