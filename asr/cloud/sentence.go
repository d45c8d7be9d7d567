package cloud

import (
	"context"
	"io"
	"strings"

	tchttp "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/http"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

type sentenceRequest struct {
	*tchttp.BaseRequest
	EngSerViceType string // as the interface spells it
	SourceType     uint64
	VoiceFormat    string
	Data           []byte // base64 in JSON
	DataLen        int
	HotwordList    *string `json:",omitempty"`
}

type sentenceResponse struct {
	*tchttp.BaseResponse
	Response struct {
		Result        *string
		AudioDuration int64 // ms
	}
}

// sentence recognises up to a minute in one call.
func (r *Recognizer) sentence(ctx context.Context, src *provider.Source, audio asr.Audio) (asr.Transcript, error) {
	const op = "sentence"
	format := flashFormat(src.Info)
	if err := checkLimits(op, format, src, sentenceBytes, sentenceDuration); err != nil {
		return asr.Transcript{}, err
	}
	data, err := io.ReadAll(src)
	if err != nil {
		return asr.Transcript{}, err
	}
	request := &sentenceRequest{
		BaseRequest: apiRequest("SentenceRecognition"), EngSerViceType: r.cfg.engineFor(audio.Language), SourceType: 1,
		VoiceFormat: format, Data: data, DataLen: len(data), HotwordList: r.hotWords(audio.Words),
	}
	response := &sentenceResponse{BaseResponse: &tchttp.BaseResponse{}}
	if err := r.call(ctx, op, request, response); err != nil {
		return asr.Transcript{}, err
	}
	if response.Response.Result == nil {
		return asr.Transcript{}, incomplete(op, "Result")
	}
	return asr.Transcript{
		Text:     strings.TrimSpace(*response.Response.Result),
		Duration: milliseconds(response.Response.AudioDuration),
	}, nil
}
