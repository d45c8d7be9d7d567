package cloud_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lessonkit.example/asr/asrtest"
)

// The account of the fakes.
const (
	appID     = "1250000000"
	secretID  = "AKIDEXAMPLE"
	secretKey = "not-a-real-secret-key"
)

// flashCode makes the flash interface answer with this code.
func flashCode(code int) asrtest.Fault { return asrtest.Fault("code " + strconv.Itoa(code)) }

// flashCodeOnce answers with the code once and then as usual.
func flashCodeOnce(code int) asrtest.Fault { return asrtest.Fault("once " + strconv.Itoa(code)) }

type object = map[string]any

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// newFlash starts a fake of the flash interface, which checks the signature.
func newFlash(t testing.TB) *asrtest.Server { return asrtest.NewCustomServer(t, serveFlash) }

func serveFlash(s *asrtest.Server, w http.ResponseWriter, r *http.Request) {
	fault := s.Fault()
	fail := func(code int, message string) {
		answer(w, 200, object{"request_id": "r", "code": code, "message": message})
	}
	query := r.URL.Query()
	audio, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req := asrtest.Request{
		Path: r.URL.Path, Authorization: r.Header.Get("Authorization"), Size: int64(len(audio)),
		ContentLength: r.ContentLength, FileType: r.Header.Get("Content-Type"), Fields: map[string]string{},
	}
	for name := range query {
		req.Fields[name] = query.Get(name)
	}
	if r.Method != http.MethodPost || r.URL.Path != "/asr/flash/v1/"+appID {
		fail(4001, "invalid path")
		return
	}
	if r.ContentLength < 0 {
		fail(4001, "Content-Length is required")
		return
	}
	// The real host is signed, not the address of the request.
	var pairs []string
	for name := range query {
		pairs = append(pairs, name+"="+query.Get(name))
	}
	slices.Sort(pairs)
	mac := hmac.New(sha1.New, []byte(secretKey))
	_, _ = io.WriteString(mac, "POSTasr.cloud.tencent.com/asr/flash/v1/"+appID+"?"+strings.Join(pairs, "&"))
	signature := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if query.Get("secretid") != secretID || r.Header.Get("Authorization") != signature {
		fail(4002, "signature verification failed")
		return
	}
	sent, err := strconv.ParseInt(query.Get("timestamp"), 10, 64)
	if age := time.Since(time.Unix(sent, 0)); err != nil || age > 5*time.Minute || age < -5*time.Minute {
		fail(4002, "signature expired")
		return
	}
	for _, needed := range []string{"engine_type", "voice_format"} {
		if query.Get(needed) == "" {
			fail(4001, needed+" is missing")
			return
		}
	}
	s.Received(req)
	if s.ServeFault(w, r) {
		return
	}
	switch {
	case fault == asrtest.Failure:
		http.Error(w, "internal", http.StatusInternalServerError)
	case fault == asrtest.ErrorIn200:
		fail(5002, "recognition failed")
	case fault == asrtest.NoText:
		answer(w, 200, object{"message": "no code"})
	case strings.HasPrefix(string(fault), "once "):
		s.SetFault(asrtest.NoFault)
		code, _ := strconv.Atoi(strings.TrimPrefix(string(fault), "once "))
		fail(code, "code "+strconv.Itoa(code))
	case strings.HasPrefix(string(fault), "code "):
		code, _ := strconv.Atoi(strings.TrimPrefix(string(fault), "code "))
		fail(code, "code "+strconv.Itoa(code))
	case len(audio) == 0:
		fail(4012, "empty audio")
	case bytes.Contains(audio, []byte("damaged")):
		fail(4007, "audio decoding failed")
	default:
		first, rest, _ := strings.Cut(asrtest.Heard(audio), " bytes ")
		sentences := []object{
			{"text": first + " bytes", "start_time": 0, "end_time": 500, "speaker_id": 0},
			{"text": rest, "start_time": 500, "end_time": 1000, "speaker_id": 0},
		}
		answer(w, 200, object{
			"request_id": "r", "code": 0, "message": "", "audio_duration": 1000, "flash_result": []object{
				{"channel_id": 0, "text": first + " bytes " + rest, "sentence_list": sentences},
			},
		})
	}
}
