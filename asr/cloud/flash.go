package cloud

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

// flashHost is the host that is signed, even if the request goes to another address.
const flashHost = "asr.cloud.tencent.com"

const flashOp = "flash"

// maxAnswer limits an answer. Two hours of sentences are much shorter.
const maxAnswer = 16 << 20

// flash streams the recording up. A recording that the engine fails on is sent once more.
func (r *Recognizer) flash(ctx context.Context, src *provider.Source, audio asr.Audio) (asr.Transcript, error) {
	format := flashFormat(src.Info)
	if err := checkLimits(flashOp, format != "", src, flashBytes, flashDuration); err != nil {
		return asr.Transcript{}, err
	}
	t, err := r.flashOnce(ctx, src, src.Size, format, audio)
	if e, ok := errors.AsType[*asr.Error](err); ok && e.Code == flashRecognitionFailed {
		again, err := r.open(ctx, audio, true)
		if err != nil {
			return asr.Transcript{}, err
		}
		defer again.Close()
		return r.flashOnce(ctx, again, again.Size, format, audio)
	}
	return t, err
}

// flashOnce sends one request. src has size bytes.
func (r *Recognizer) flashOnce(
	ctx context.Context, src io.Reader, size int64, format string, audio asr.Audio,
) (asr.Transcript, error) {
	params := map[string]string{
		"secretid":     r.cfg.SecretID,
		"timestamp":    strconv.FormatInt(time.Now().Unix(), 10),
		"engine_type":  r.cfg.engineFor(audio.Language),
		"voice_format": format,
	}
	if list := hotWords(audio.Words); list != nil {
		params["hotword_list"] = *list
	}
	target, signature := signFlash(r.cfg.AppID, r.cfg.SecretKey, params)

	address := cmp.Or(r.cfg.FlashURL, "https://"+flashHost)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(address, "/")+target, src)
	if err != nil {
		return asr.Transcript{}, &asr.Error{Op: flashOp, Message: "make request", Err: err}
	}
	req.ContentLength = size // the interface does not accept a chunked body
	req.Header.Set("Authorization", signature)
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := provider.Do(flashOp, r.transport, req)
	if err != nil {
		return asr.Transcript{}, err
	}
	defer resp.Body.Close()
	body, err := provider.ReadBody(resp.Body, maxAnswer)
	switch {
	case resp.StatusCode != http.StatusOK:
		return asr.Transcript{}, statusError(flashOp, resp)
	case err != nil:
		return asr.Transcript{}, &asr.Error{
			Op: flashOp, Status: resp.StatusCode, Message: "incomplete answer", Err: err,
		}
	}
	return parseFlash(body, audio)
}

// signFlash returns the path with the query, and the signature over both. The parameters are sorted
// by name; their values are signed as they are and escaped in the query.
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

// flashReply is the answer of the flash interface, with and without an error.
type flashReply struct {
	Code          *int   `json:"code"`
	Message       string `json:"message"`
	AudioDuration int64  `json:"audio_duration"` // ms
	Results       []struct {
		Text      string `json:"text"`
		Sentences []struct {
			Text  string `json:"text"`
			Start int64  `json:"start_time"`
			End   int64  `json:"end_time"`
		} `json:"sentence_list"`
	} `json:"flash_result"`
}

func parseFlash(answer []byte, sent asr.Audio) (asr.Transcript, error) {
	var v flashReply
	if err := json.Unmarshal(answer, &v); err != nil || v.Code == nil {
		return asr.Transcript{}, &asr.Error{
			Op: flashOp, Status: http.StatusOK, Message: "the answer cannot be parsed: " + provider.Shape(answer),
		}
	}
	if *v.Code != 0 {
		return asr.Transcript{}, flashError(*v.Code, provider.Excerpt(v.Message, sent))
	}
	t := asr.Transcript{Duration: milliseconds(v.AudioDuration)}
	var texts []string
	for _, result := range v.Results {
		texts = append(texts, result.Text)
		for _, s := range result.Sentences {
			t.Segments = append(t.Segments, asr.Segment{
				Start: milliseconds(s.Start), End: milliseconds(s.End), Text: strings.TrimSpace(s.Text),
			})
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
