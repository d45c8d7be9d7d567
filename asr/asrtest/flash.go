package asrtest

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The account that the fakes of Tencent Cloud know.
const (
	AppID     = "1250000000"
	SecretID  = "AKIDEXAMPLE"
	SecretKey = "not-a-real-secret-key"
)

// FlashCode makes the flash interface answer with this code, as in FlashCode(4006).
func FlashCode(code int) Fault { return Fault("code " + strconv.Itoa(code)) }

// FlashCodeOnce answers with the code once and then as usual.
func FlashCodeOnce(code int) Fault { return Fault("once " + strconv.Itoa(code)) }

func (s *Server) serveFlash(w http.ResponseWriter, r *http.Request) {
	fault, _, _ := s.state()
	fail := func(code int, message string) {
		answer(w, 200, object{"request_id": "r", "code": code, "message": message})
	}
	query := r.URL.Query()
	req := Request{
		Path: r.URL.Path, Query: r.URL.RawQuery, Authorization: r.Header.Get("Authorization"),
		ContentLength: r.ContentLength, FileType: r.Header.Get("Content-Type"), Fields: map[string]string{},
	}
	for name := range query {
		req.Fields[name] = query.Get(name)
	}
	if r.Method != http.MethodPost || r.URL.Path != "/asr/flash/v1/"+AppID {
		_, _ = io.Copy(io.Discard, r.Body)
		fail(4001, "invalid path")
		return
	}
	if r.ContentLength < 0 {
		fail(4001, "Content-Length is required")
		return
	}
	// The signature is over the real host, whatever address the request came to.
	var pairs []string
	for name := range query {
		pairs = append(pairs, name+"="+query.Get(name))
	}
	slices.Sort(pairs)
	mac := hmac.New(sha1.New, []byte(SecretKey))
	_, _ = io.WriteString(mac, "POSTasr.cloud.tencent.com/asr/flash/v1/"+AppID+"?"+strings.Join(pairs, "&"))
	if query.Get("secretid") != SecretID || r.Header.Get("Authorization") != base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		_, _ = io.Copy(io.Discard, r.Body)
		fail(4002, "signature verification failed")
		return
	}
	sent, err := strconv.ParseInt(query.Get("timestamp"), 10, 64)
	if age := time.Since(time.Unix(sent, 0)); err != nil || age > 5*time.Minute || age < -5*time.Minute {
		_, _ = io.Copy(io.Discard, r.Body)
		fail(4002, "signature expired")
		return
	}
	for _, needed := range []string{"engine_type", "voice_format"} {
		if query.Get(needed) == "" {
			_, _ = io.Copy(io.Discard, r.Body)
			fail(4001, needed+" is missing")
			return
		}
	}
	heard := newListener()
	if req.Size, err = io.Copy(heard, r.Body); err != nil {
		return
	}
	s.received(req)
	if s.commonFault(w, r, fault) {
		return
	}
	switch {
	case fault == Failure:
		http.Error(w, "internal", http.StatusInternalServerError)
	case fault == ErrorIn200:
		fail(5002, "recognition failed")
	case fault == NoText:
		answer(w, 200, object{"message": "odd"})
	case strings.HasPrefix(string(fault), "once "):
		s.SetFault(NoFault)
		code, _ := strconv.Atoi(strings.TrimPrefix(string(fault), "once "))
		fail(code, "code "+strconv.Itoa(code))
	case strings.HasPrefix(string(fault), "code "):
		code, _ := strconv.Atoi(strings.TrimPrefix(string(fault), "code "))
		fail(code, "code "+strconv.Itoa(code))
	case heard.size == 0:
		fail(4012, "empty audio")
	case heard.damaged():
		fail(4007, "audio decoding failed")
	default:
		first, rest, _ := strings.Cut(heard.text(), " bytes ")
		answer(w, 200, object{"request_id": "r", "code": 0, "message": "", "audio_duration": 1000, "flash_result": []object{{
			"channel_id": 0, "text": first + " bytes " + rest, "sentence_list": []object{
				{"text": first + " bytes", "start_time": 0, "end_time": 500, "speaker_id": 0},
				{"text": rest, "start_time": 500, "end_time": 1000, "speaker_id": 0},
			},
		}}})
	}
}
