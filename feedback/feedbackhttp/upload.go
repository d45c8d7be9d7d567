package feedbackhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
	"lessonkit.example/feedback/internal/recording"
	"lessonkit.example/internal/httpapi"
)

const (
	// partTimeout is how long each partSize bytes of an upload may take to arrive: 1 KiB a second
	// is less than any recorder makes. There is no limit on the whole upload, which takes long on a
	// slow mobile network.
	partTimeout = time.Minute
	partSize    = 60 << 10
	// formOverhead is how much larger than the recording a form may be, in bytes.
	formOverhead = 1 << 20
	// formBuffer is larger than the 4 KiB of package multipart, to make fewer system calls.
	formBuffer = 64 << 10
	// maxParts is the largest number of parts of a form, and maxPartHeader the largest size of a
	// part's header, in bytes.
	maxParts      = 16
	maxPartHeader = 16 << 10
	// maxValue is the largest text part, in bytes; all of them are numbers or words.
	maxValue = 256
	// maxDurationMS is a day.
	maxDurationMS = 24 * 60 * 60 * 1000
)

// uploadFields are the text parts and query parameters.
var uploadFields = []*huma.Param{
	{
		Name: "sequence", Schema: integer(0, feedback.MaxSequence),
		Description: "The position of the segment in the lesson. Defaults to the next number.",
	},
	{
		Name: "duration_ms", Schema: &huma.Schema{Type: "number"},
		Description: "The length that the recorder reports: a hint. It is rounded, and ignored unless it is a " +
			"number from 0 to 86400000, a day.",
	},
	{
		Name: "format", Schema: &huma.Schema{Type: "string", Enum: []any{"pcm"}},
		Description: "\"pcm\" declares raw samples: signed 16-bit little-endian, interleaved.",
	},
	{
		Name: "sample_rate", Schema: integer(4000, 384_000),
		Description: "With format=pcm: samples a second.",
	},
	{
		Name: "channels", Schema: integer(1, 8),
		Description: "With format=pcm.",
	},
}

func integer(least, most float64) *huma.Schema {
	return &huma.Schema{Type: "integer", Minimum: &least, Maximum: &most}
}

func (s *server) registerUpload(api huma.API) {
	binary := &huma.Schema{Type: "string", Format: "binary"}
	form := &huma.Schema{
		Type: "object", Properties: map[string]*huma.Schema{"file": binary}, Required: []string{"file"},
	}
	parameters := []*huma.Param{pathParam("lesson_id")}
	for _, f := range uploadFields {
		query := *f
		query.In = "query"
		parameters = append(parameters, &query)
		property := *f.Schema
		property.Description = f.Description
		form.Properties[f.Name] = &property
	}
	segment := map[string]*huma.MediaType{"application/json": {Schema: schemaOf[wire.AudioSegment](api)}}
	op := s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/feedback-lessons/{lesson_id}/segments", OperationID: "upload-segment",
		Metadata: lasting,
		Tags:     []string{segmentsTag}, Summary: "Upload a segment of a lesson's recording",
		Description: "As a form with the recording in the part \"file\" (or \"audio\"), parts in any order, or with " +
			"the recording as the body. The type is recognised by content: mp3, AAC, m4a or mp4, wav, ogg or opus, " +
			"webm, flac, AMR; mov, mka, caf and aiff if the server converts recordings; raw samples if declared. " +
			"Other types are answered with 415 and what to change at the recorder. " +
			"The answer is sent as soon as the recording and its " +
			"transcription task are durable. The same recording again (same sequence, or no sequence) is answered " +
			"with the existing segment: 200. Another recording for a completed session is refused (409, " +
			"session_completed), as it would be in no record: open the next session for it. " +
			"The segments and bytes of a day are limited (429); 507 means that the " +
			"server has no space. Both are answered before the recording is read. An upload of which " +
			"less than 60 KiB arrive in a minute ends with 408.",
		DefaultStatus: http.StatusAccepted,
		Errors: []int{
			http.StatusBadRequest, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict,
			http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
			http.StatusNotImplemented, http.StatusInsufficientStorage,
		},
		Parameters: parameters,
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"multipart/form-data": {Schema: form},
			"audio/*":             {Schema: binary},
		}},
		Responses: map[string]*huma.Response{
			"202": {Description: "Accepted; the transcription follows", Content: segment},
			"200": {Description: "The recording existed already", Content: segment},
		},
	})
	httpapi.Stream(api, op, func(ctx huma.Context) (int, any, error) {
		seg, created, err := s.upload(ctx)
		annotate(ctx.Context(), "segment_id", seg.ID)
		annotate(ctx.Context(), "session_id", seg.SessionID)
		switch {
		case err != nil:
			return 0, nil, err
		case created:
			return http.StatusAccepted, wire.SegmentOf(seg), nil
		}
		return http.StatusOK, wire.SegmentOf(seg), nil
	})
}

func (s *server) upload(ctx huma.Context) (feedback.Segment, bool, error) {
	none := feedback.Segment{}
	lesson, err := pathID(ctx, "lesson_id")
	if err != nil {
		return none, false, err
	}
	values := uploadValues{in: "query", numbers: map[string]int{}}
	u := ctx.URL()
	for name, v := range u.Query() {
		if err := values.set(name, v[len(v)-1]); err != nil {
			return none, false, err
		}
	}
	kind, params, err := mime.ParseMediaType(ctx.Header("Content-Type"))
	isForm := kind == "multipart/form-data"
	if err != nil || !isForm && !strings.HasPrefix(kind, "audio/") {
		return none, false, httpapi.Error(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"send multipart/form-data with the part \"file\", or the recording as the body with an audio/* type")
	}
	limit := s.svc.MaxAudioBytes()
	if isForm {
		limit += formOverhead
	}
	if n, err := strconv.ParseInt(ctx.Header("Content-Length"), 10, 64); err == nil && n > limit {
		return none, false, problem("body", recording.TooLarge(s.svc.MaxAudioBytes()))
	}
	up, err := s.svc.StartUpload(ctx.Context(), teacher(ctx.Context()), lesson)
	if err != nil {
		return none, false, problem("path", err)
	}
	defer up.Discard(ctx.Context())
	body := &bodyReader{ctx: ctx, left: limit + 1}
	if isForm {
		values.in = "body"
		form := multipart.NewReader(bufio.NewReaderSize(body, formBuffer), params["boundary"])
		err = readForm(ctx.Context(), body, form, up, &values)
	} else {
		err = receive(ctx.Context(), up, body)
	}
	if err != nil {
		return none, false, err
	}
	// The deadline was for the body; if it passed now, it would end the request's context.
	_ = ctx.SetReadDeadline(time.Time{})
	in, err := values.input()
	if err != nil {
		return none, false, err
	}
	seg, created, err := up.Submit(ctx.Context(), in)
	return seg, created, problem(values.in, err)
}

// readForm reads the parts in any order.
func readForm(
	ctx context.Context, body *bodyReader, form *multipart.Reader, up *feedback.Upload, values *uploadValues,
) error {
	for parts := 0; ; parts++ {
		// Package multipart takes headers of 10 MB. The parts before have been read: what it reads
		// now, apart from what it reads ahead, is the header.
		body.limit(formBuffer + maxPartHeader)
		part, err := form.NextPart()
		body.limit(math.MaxInt64)
		if err == io.EOF {
			break
		}
		if err == nil && parts == maxParts {
			err = errFormShape
		}
		if err != nil {
			return brokenForm(err)
		}
		switch name := part.FormName(); name {
		case "file", "audio":
			if up.Received() {
				return fieldProblem("body."+name, "is a second recording; a request has one")
			}
			if err := receive(ctx, up, part); err != nil {
				return err
			}
		default:
			value, err := io.ReadAll(io.LimitReader(part, maxValue+1))
			if err != nil {
				return brokenForm(err)
			}
			if err := values.set(name, string(value)); err != nil {
				return err
			}
		}
	}
	if !up.Received() {
		return fieldProblem("body.file", "is required: the part with the recording")
	}
	return nil
}

func receive(ctx context.Context, up *feedback.Upload, audio io.Reader) error {
	err := up.Receive(ctx, audio)
	if errors.Is(err, feedback.ErrUpload) {
		return brokenForm(err)
	}
	return problem("path", err)
}

func brokenForm(err error) error {
	switch {
	case errors.Is(err, feedback.ErrAudioTooLarge):
		return httpapi.Error(http.StatusRequestEntityTooLarge, "audio_too_large",
			"the form is larger than a recording may be")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return httpapi.Error(http.StatusRequestTimeout, "upload_stalled",
			"less than 60 KiB were received in a minute; send the recording again").WithCause(err)
	case errors.Is(err, errFormShape):
		return httpapi.Error(http.StatusBadRequest, "malformed_form",
			"the form has more than 16 parts, or a part with a header of more than 16 KiB")
	}
	return httpapi.Error(http.StatusBadRequest, "upload_broken_off",
		"the body ended early or is not a form of its declared boundary").WithCause(err)
}

func fieldProblem(location, message string) *httpapi.Problem {
	return httpapi.Error(http.StatusUnprocessableEntity, "invalid_fields", "a field is not valid").
		WithField(location, message)
}

var errFormShape = errors.New("too many parts or too large headers")

// bodyReader limits the size of the body and the time that each part of it takes.
type bodyReader struct {
	ctx   huma.Context
	left  int64
	until int64 // if left falls below it, the next read fails with errFormShape
	part  int64 // bytes until the next deadline
}

// limit makes reads fail with errFormShape after the next n bytes.
func (r *bodyReader) limit(n int64) { r.until = r.left - n }

func (r *bodyReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, &feedback.Error{Kind: feedback.ErrAudioTooLarge}
	}
	if r.left <= r.until {
		return 0, errFormShape
	}
	if r.part <= 0 {
		r.part = partSize
		// Not every transport has deadlines; those of net/http do.
		_ = r.ctx.SetReadDeadline(time.Now().Add(partTimeout))
	}
	n, err := r.ctx.BodyReader().Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	r.part -= int64(n)
	return n, err
}

// uploadValues are the values that describe a recording.
type uploadValues struct {
	in       string         // where the last value came from: "query" or "body"
	numbers  map[string]int // sequence, sample_rate and channels
	duration time.Duration  // 0 if unknown
	pcm      bool
}

func (v *uploadValues) set(name, value string) error {
	switch name {
	case "sequence", "sample_rate", "channels":
		n, err := strconv.Atoi(value)
		if err != nil {
			return fieldProblem(v.in+"."+name, "must be a whole number")
		}
		v.numbers[name] = n
	case "duration_ms":
		if ms, err := strconv.ParseFloat(value, 64); err == nil && ms >= 0 && ms <= maxDurationMS { // it is a hint
			v.duration = time.Duration(math.Round(ms)) * time.Millisecond
		}
	case "format":
		if value != "pcm" {
			return fieldProblem(v.in+".format", "must be pcm or absent")
		}
		v.pcm = true
	default:
		return fieldProblem(v.in, fmt.Sprintf("has an unknown field %.40q; the fields are file (or audio), "+
			"sequence, duration_ms, format, sample_rate and channels", name))
	}
	return nil
}

func (v *uploadValues) input() (feedback.SegmentInput, error) {
	in := feedback.SegmentInput{Duration: v.duration}
	if n, ok := v.numbers["sequence"]; ok {
		in.Sequence = &n
	}
	if !v.pcm {
		return in, nil
	}
	rate, ok := v.numbers["sample_rate"]
	channels, both := v.numbers["channels"]
	if !ok || !both {
		return in, fieldProblem(v.in+".sample_rate",
			"and channels are required for raw samples, as in sample_rate=16000, channels=1")
	}
	in.PCM = &feedback.PCM{SampleRate: rate, Channels: channels}
	return in, nil
}
