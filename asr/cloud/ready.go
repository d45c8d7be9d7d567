package cloud

import (
	"context"
	"errors"
	"net/http"
	"time"

	tchttp "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/http"

	"lessonkit.example/asr"
)

// answerTimeout is how long the cloud may take to answer a request without audio.
const answerTimeout = 10 * time.Second

// ready returns an error of class ErrUnavailable if an interface was lost with a recording and has
// not answered since. Without this, several recordings that it is lost with each time would excuse
// one another for ever, and every recording would be sent, and perhaps billed, during an outage.
func (r *Recognizer) ready(ctx context.Context) error {
	r.mu.Lock()
	lost := r.lost
	r.mu.Unlock()
	if lost == "" {
		return nil
	}
	if err := r.answers(ctx, lost); err != nil {
		return &asr.Error{
			Op: "cloud", Class: asr.ErrUnavailable, Message: "no answer since a recording was lost", Err: err,
		}
	}
	r.faults.Answered()
	r.setLost("")
	return nil
}

func (r *Recognizer) setLost(mode Mode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = mode
}

// answers sends a request without audio to an interface. Any answer that is its own shows that it
// is there, a refusal too.
func (r *Recognizer) answers(ctx context.Context, mode Mode) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var err error
	if mode == Flash {
		_, err = r.flashOnce(ctx, http.NoBody, 0, "wav", asr.Audio{})
	} else {
		request := &describeRequest{BaseRequest: apiRequest("DescribeTaskStatus"), TaskId: 1}
		err = r.call(ctx, "cloud", request, &describeResponse{BaseResponse: &tchttp.BaseResponse{}})
	}
	e, _ := errors.AsType[*asr.Error](err)
	switch {
	case e == nil:
	case e.Class == asr.ErrLost:
		e.Class = asr.ErrUnavailable // no recording was sent that could be the cause
	case e.Code != "" && e.Class != asr.ErrUnavailable:
		return nil
	}
	return err
}
