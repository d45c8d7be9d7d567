package cloud

import (
	"context"
	"strings"

	tchttp "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/http"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/internal/source"
)

type sentenceRequest struct {
	*tchttp.BaseRequest
	EngSerViceType string // the interface's own spelling
	SourceType     uint64
	VoiceFormat    string
	Data           string
	DataLen        int
}

type sentenceResponse struct {
	*tchttp.BaseResponse
	Response struct {
		Result        *string
		AudioDuration int64 // ms
	}
}

// sentence recognises up to a minute in one call.
func (r *Recognizer) sentence(ctx context.Context, src *source.Source, info audiofile.Info) (asr.Transcript, error) {
	const op = "sentence"
	format := flashFormat(info)
	if err := within(op, format, info, src.Size, sentenceBytes, sentenceDuration); err != nil {
		return asr.Transcript{}, err
	}
	text, n, err := data(op, src)
	if err != nil {
		return asr.Transcript{}, err
	}
	request := &sentenceRequest{
		BaseRequest: apiRequest("SentenceRecognition"), EngSerViceType: r.cfg.engine(), SourceType: 1, VoiceFormat: format, Data: text, DataLen: n,
	}
	response := &sentenceResponse{BaseResponse: &tchttp.BaseResponse{}}
	if err := r.call(ctx, op, request, response); err != nil {
		return asr.Transcript{}, err
	}
	if response.Response.Result == nil {
		return asr.Transcript{}, unreadable(op, "Result")
	}
	return asr.Transcript{Text: strings.TrimSpace(*response.Response.Result), Duration: milliseconds(response.Response.AudioDuration)}, nil
}
