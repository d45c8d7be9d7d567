package cloud

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	tchttp "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/http"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/remote"
	"lessonkit.example/asr/internal/source"
)

// taskLife is how long a task's name is good. The cloud keeps results for 24 hours, and may give the same number again on another day.
const taskLife = 23 * time.Hour

// begun is a task in the cloud. Its name carries the time, so that an old number is never taken for a new one, and how many tasks were
// begun for the recording.
type begun struct {
	id      uint64
	created time.Time
	attempt int
}

func (b begun) String() string {
	return fmt.Sprintf("tencent-asr/%d/%d/%d", b.created.Unix(), b.attempt, b.id)
}

func parseTask(name string) (begun, bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[0] != "tencent-asr" {
		return begun{}, false
	}
	created, err1 := strconv.ParseInt(parts[1], 10, 64)
	attempt, err2 := strconv.Atoi(parts[2])
	id, err3 := strconv.ParseUint(parts[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || created < 0 || attempt < 1 {
		return begun{}, false
	}
	return begun{id: id, created: time.Unix(created, 0).UTC(), attempt: attempt}, true
}

type createRequest struct {
	*tchttp.BaseRequest
	EngineModelType string
	ChannelNum      uint64
	ResTextFormat   uint64
	SourceType      uint64
	Data            string
	DataLen         int
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
	ResultDetail  []struct {
		FinalSentence string
		StartMs       int64
		EndMs         int64
		SpeakerId     *int64
	}
}

const (
	taskOp      = "task"
	maxAttempts = 2 // tasks for one recording, where the first has failed
)

// task begins a task, or goes on with one, and waits for its result.
func (r *Recognizer) task(ctx context.Context, src *source.Source, audio asr.Audio, running *begun) (asr.Transcript, error) {
	attempt := 1
	if running != nil {
		attempt = running.attempt
	}
	for {
		if running == nil {
			t, err := r.create(ctx, src, audio, attempt)
			if err != nil {
				return asr.Transcript{}, err
			}
			running = &t
		}
		status, err := r.wait(ctx, *running, audio)
		switch e, _ := errors.AsType[*asr.Error](err); {
		case err == nil && status.Status == statusSuccess:
			return status.transcript(), nil
		case e != nil && e.Code == "FailedOperation.NoSuchTask":
			r.log.WarnContext(ctx, "the cloud has forgotten a task; it is begun again", "task", running.String())
			if attempt++; attempt > maxAttempts {
				r.save(ctx, audio, "") // so that the next try begins anew
				return asr.Transcript{}, err
			}
		case err != nil:
			return asr.Transcript{}, err
		default:
			if attempt++; attempt > maxAttempts {
				r.save(ctx, audio, "") // so that a new try by hand begins anew
				return asr.Transcript{}, source.Unusable(taskOp, "the cloud says: "+remote.Excerpt(status.ErrorMsg))
			}
			r.log.WarnContext(ctx, "a task has failed; it is begun again", "task", running.String(), "message", remote.Excerpt(status.ErrorMsg))
		}
		running = nil
		again, err := source.Open(taskOp, audio)
		if err != nil {
			return asr.Transcript{}, err
		}
		defer again.Close()
		src = again
	}
}

// create sends the recording and hands out the task's name.
func (r *Recognizer) create(ctx context.Context, src *source.Source, audio asr.Audio, attempt int) (begun, error) {
	info := examine(src, audio)
	format := ""
	if taskFormat(info) {
		format = string(info.Format)
	}
	if err := within(taskOp, format, info, src.Size, taskBytes, 0); err != nil {
		return begun{}, err
	}
	text, n, err := data(taskOp, src)
	if err != nil {
		return begun{}, err
	}
	request := &createRequest{
		BaseRequest: apiRequest("CreateRecTask"), EngineModelType: r.cfg.engine(), ChannelNum: 1, ResTextFormat: 0, SourceType: 1, Data: text, DataLen: n,
	}
	response := &createResponse{BaseResponse: &tchttp.BaseResponse{}}
	if err := r.call(ctx, taskOp, request, response); err != nil {
		return begun{}, err
	}
	if response.Response.Data == nil || response.Response.Data.TaskId == 0 {
		return begun{}, unreadable(taskOp, "TaskId")
	}
	t := begun{id: response.Response.Data.TaskId, created: r.clock().Truncate(time.Second), attempt: attempt}
	return t, nil
}

// save hands out a task's name, and tells whether that is done.
func (r *Recognizer) save(ctx context.Context, audio asr.Audio, name string) bool {
	if audio.SaveTask == nil {
		return true
	}
	if err := audio.SaveTask(ctx, name); err != nil {
		r.log.WarnContext(ctx, "a task's name was not saved; it is tried again", "task", name, "error", err)
		return false
	}
	return true
}

const (
	statusSuccess = 2
	statusFailed  = 3
)

// wait asks for the task until it is done. The cloud's being away meanwhile does no harm: the task goes on.
func (r *Recognizer) wait(ctx context.Context, t begun, audio asr.Audio) (*taskStatus, error) {
	saved := audio.Task == t.String() || r.save(ctx, audio, t.String())
	for pause := r.cfg.pollInterval(); ; pause = min(pause*3/2, 8*r.cfg.pollInterval()) {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, &asr.Error{Op: taskOp, Err: ctx.Err()}
		case <-timer.C:
		}
		if !saved {
			saved = r.save(ctx, audio, t.String())
		}
		response := &describeResponse{BaseResponse: &tchttp.BaseResponse{}}
		err := r.call(ctx, taskOp, &describeRequest{BaseRequest: apiRequest("DescribeTaskStatus"), TaskId: t.id}, response)
		switch {
		case ctx.Err() != nil:
			return nil, &asr.Error{Op: taskOp, Err: ctx.Err()}
		case errors.Is(err, asr.ErrUnavailable):
			continue
		case err != nil:
			return nil, err
		case response.Response.Data == nil:
			return nil, unreadable(taskOp, "Data")
		}
		if s := response.Response.Data; s.Status == statusSuccess || s.Status == statusFailed {
			return s, nil
		}
	}
}

var timeMark = regexp.MustCompile(`^\[(\d+):(\d+)\.(\d+),(\d+):(\d+)\.(\d+)(?:,(\d+))?\]\s*`)

// transcript takes the sentences where the answer has them, else the lines of the result with their time marks.
func (s *taskStatus) transcript() asr.Transcript {
	t := asr.Transcript{Duration: milliseconds(int64(s.AudioDuration * 1000))}
	for _, d := range s.ResultDetail {
		segment := asr.Segment{Start: milliseconds(d.StartMs), End: milliseconds(d.EndMs), Text: strings.TrimSpace(d.FinalSentence)}
		if d.SpeakerId != nil {
			segment.Speaker = strconv.FormatInt(*d.SpeakerId, 10)
		}
		t.Segments = append(t.Segments, segment)
	}
	if len(t.Segments) > 0 {
		t.Text = asr.JoinSegments(t.Segments)
		return t
	}
	var lines []string
	for line := range strings.Lines(s.Result) {
		m := timeMark.FindStringSubmatch(line)
		if m == nil {
			lines = append(lines, line)
			continue
		}
		text := strings.TrimSpace(line[len(m[0]):])
		lines = append(lines, text)
		t.Segments = append(t.Segments, asr.Segment{Start: mark(m[1:4]), End: mark(m[4:7]), Text: text, Speaker: m[7]})
	}
	if len(lines) != len(t.Segments) {
		t.Segments = nil // some lines have no times
	}
	t.Text = asr.JoinText(lines...)
	return t
}

// mark reads minutes, seconds and the digits behind the point.
func mark(p []string) time.Duration {
	minutes, _ := strconv.Atoi(p[0])
	seconds, _ := strconv.ParseFloat(p[1]+"."+p[2], 64)
	return milliseconds(int64(minutes)*60000 + int64(seconds*1000+0.5))
}
