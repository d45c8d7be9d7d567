package cloud

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/internal/remote"
	"lessonkit.example/asr/internal/source"
)

// flashHost is the host that is signed, wherever the request goes.
const flashHost = "asr.cloud.tencent.com"

const flashOp = "flash"

// flash streams the recording up. A recording that the engine fails on is sent once more.
func (r *Recognizer) flash(ctx context.Context, src *source.Source, audio asr.Audio, info audiofile.Info) (asr.Transcript, error) {
	format := flashFormat(info)
	if err := within(flashOp, format, info, src.Size, flashBytes, flashDuration); err != nil {
		return asr.Transcript{}, err
	}
	t, err := r.flashOnce(ctx, src, audio, format)
	if e, ok := errors.AsType[*asr.Error](err); ok && e.Code == flashRecognitionFailed {
		again, openErr := source.Open(flashOp, audio)
		if openErr != nil {
			return t, openErr
		}
		defer again.Close()
		return r.flashOnce(ctx, again, audio, format)
	}
	return t, err
}

func (r *Recognizer) flashOnce(ctx context.Context, src *source.Source, audio asr.Audio, format string) (asr.Transcript, error) {
	params := map[string]string{}
	maps.Copy(params, r.cfg.Options)
	params["secretid"] = r.cfg.SecretID
	params["timestamp"] = strconv.FormatInt(r.now().Unix(), 10)
	params["engine_type"] = r.cfg.engine()
	params["voice_format"] = format
	target, signature := signFlash(r.cfg.AppID, r.cfg.SecretKey, params)

	address := r.cfg.FlashURL
	if address == "" {
		address = "https://" + flashHost
	}
	var failure source.Failure
	body := func(s *source.Source) io.ReadCloser {
		return source.NewBody(s.Prefix, s, nil, &failure)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(address, "/")+target, body(src))
	if err != nil {
		return asr.Transcript{}, &asr.Error{Op: flashOp, Class: asr.ErrMisconfigured, Message: "make request", Err: err}
	}
	req.ContentLength = src.Size // the interface takes no chunked body
	req.Close = true             // a kept connection may be closed just when the next recording is sent on it
	req.GetBody = func() (io.ReadCloser, error) {
		again, err := source.Open(flashOp, audio)
		if err != nil {
			return nil, err
		}
		return body(again), nil
	}
	req.Header.Set("Authorization", signature)
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := r.client.Do(req)
	if err != nil {
		if broken := failure.Err(); broken != nil {
			return asr.Transcript{}, &asr.Error{Op: flashOp, Message: "read audio", Err: broken}
		}
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, which holds the account
		}
		return asr.Transcript{}, &asr.Error{Op: flashOp, Class: asr.ErrUnavailable, Message: "no answer from the cloud", Err: err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		e := statusError(flashOp, resp, r.now())
		if resp.StatusCode == http.StatusGatewayTimeout {
			e.After = max(e.RetryAfter(), source.Duration(audio))
		}
		return asr.Transcript{}, e
	case err != nil:
		return asr.Transcript{}, &asr.Error{Op: flashOp, Status: resp.StatusCode, Message: "the answer breaks off", Err: err}
	case len(answer) > maxAnswer:
		return asr.Transcript{}, &asr.Error{Op: flashOp, Status: resp.StatusCode, Message: fmt.Sprintf("the answer is longer than %d bytes", maxAnswer)}
	}
	return parseFlash(answer)
}

// maxAnswer bounds an answer; two hours of sentences stay far below.
const maxAnswer = 16 << 20

// signFlash returns path and query, and the signature over them: the parameters sorted by name, with their values as they are, while the
// query in the address has them escaped.
func signFlash(appID, key string, params map[string]string) (target, signature string) {
	path := "/asr/flash/v1/" + appID
	plain, escaped := make([]string, 0, len(params)), make([]string, 0, len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		plain = append(plain, name+"="+params[name])
		escaped = append(escaped, url.QueryEscape(name)+"="+url.QueryEscape(params[name]))
	}
	mac := hmac.New(sha1.New, []byte(key))
	_, _ = io.WriteString(mac, "POST"+flashHost+path+"?"+strings.Join(plain, "&"))
	return path + "?" + strings.Join(escaped, "&"), base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// flashReply is what the flash interface answers, also for errors.
type flashReply struct {
	Code          *int   `json:"code"`
	Message       string `json:"message"`
	AudioDuration int64  `json:"audio_duration"` // ms
	Results       []struct {
		Text      string `json:"text"`
		Sentences []struct {
			Text    string `json:"text"`
			Start   int64  `json:"start_time"`
			End     int64  `json:"end_time"`
			Speaker *int   `json:"speaker_id"`
		} `json:"sentence_list"`
	} `json:"flash_result"`
}

func parseFlash(answer []byte) (asr.Transcript, error) {
	var v flashReply
	if err := json.Unmarshal(answer, &v); err != nil || v.Code == nil {
		return asr.Transcript{}, &asr.Error{Op: flashOp, Message: "the answer cannot be read: " + remote.Excerpt(string(answer)), Err: err}
	}
	if *v.Code != 0 {
		return asr.Transcript{}, flashError(*v.Code, v.Message)
	}
	t := asr.Transcript{Duration: milliseconds(v.AudioDuration)}
	var texts []string
	for _, result := range v.Results {
		texts = append(texts, result.Text)
		for _, s := range result.Sentences {
			segment := asr.Segment{Start: milliseconds(s.Start), End: milliseconds(s.End), Text: strings.TrimSpace(s.Text)}
			if s.Speaker != nil {
				segment.Speaker = strconv.Itoa(*s.Speaker)
			}
			t.Segments = append(t.Segments, segment)
		}
	}
	t.Text = asr.JoinText(texts...)
	return t, nil
}

func milliseconds(n int64) time.Duration {
	if n < 0 || n > int64(1000*time.Hour/time.Millisecond) {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}
