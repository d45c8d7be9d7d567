package cloud_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lessonkit.example/asr/asrtest"
)

// apiCode makes API 3.0 answer with this error code.
func apiCode(code string) asrtest.Fault { return asrtest.Fault("api " + code) }

// The faults of tasks.
const (
	taskFails     asrtest.Fault = "task fails"      // every task ends with status 3
	taskFailsOnce asrtest.Fault = "task fails once" // the next task does
	taskSlow      asrtest.Fault = "task slow"       // tasks never end
)

// apiServer is a fake of API 3.0, which checks the TC3 signature.
type apiServer struct {
	*asrtest.Server

	hotWords atomic.Pointer[string] // of the last request that sends audio

	mu    sync.Mutex
	tasks map[uint64]*task
}

// task is a task of CreateRecTask.
type task struct {
	text   string
	polls  int
	failed bool
}

func newAPI(t testing.TB) *apiServer {
	t.Helper()
	s := &apiServer{tasks: map[uint64]*task{}}
	s.Server = asrtest.NewCustomServer(t, s.serve)
	return s
}

// Tasks returns how many tasks were created.
func (s *apiServer) Tasks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tasks)
}

// maxUpload is the limit of the data of CreateRecTask.
const maxUpload = 5 << 20

func (s *apiServer) serve(server *asrtest.Server, w http.ResponseWriter, r *http.Request) {
	fault := server.Fault()
	body, err := io.ReadAll(io.LimitReader(r.Body, 10<<20+1))
	if err != nil {
		return
	}
	action := r.Header.Get("X-TC-Action")
	server.Received(asrtest.Request{Path: action, ContentLength: r.ContentLength, Size: int64(len(body))})
	if server.ServeFault(w, r) {
		return
	}
	fail := func(code, message string) {
		answer(w, 200, object{"Response": object{"Error": object{"Code": code, "Message": message}, "RequestId": "r"}})
	}
	if fault == asrtest.Failure {
		answer(w, 500, object{"Response": object{"Error": object{"Code": "InternalError"}, "RequestId": "r"}})
		return
	}
	if code, ok := strings.CutPrefix(string(fault), "api "); ok {
		fail(code, "code "+code)
		return
	}
	if code := checkTC3(r, body); code != "" {
		fail(code, "signature mismatch")
		return
	}
	if r.Header.Get("X-TC-Version") != "2019-06-14" {
		fail("InvalidParameter", "version")
		return
	}
	var in struct {
		EngineModelType, Data                 string
		ChannelNum, ResTextFormat, SourceType *uint64
		HotwordList                           *string
		DataLen                               int
		TaskId                                uint64
	}
	if err := json.Unmarshal(body, &in); err != nil {
		fail("InvalidParameter", err.Error())
		return
	}
	audio, err := base64.StdEncoding.DecodeString(in.Data)
	hasData := len(audio) == in.DataLen && in.SourceType != nil && *in.SourceType == 1
	if err != nil || action != "DescribeTaskStatus" && !hasData {
		fail("InvalidParameter.ErrorContentlength", "Data and DataLen do not match")
		return
	}
	if hasData {
		s.hotWords.Store(in.HotwordList)
	}
	switch action {
	case "CreateRecTask":
		switch {
		case in.EngineModelType == "" || in.ChannelNum == nil || in.ResTextFormat == nil:
			fail("MissingParameter", "EngineModelType, ChannelNum, ResTextFormat")
		case len(audio) > maxUpload:
			fail("InvalidParameterValue.ErrorVoicedataTooLong", "over 5 MB")
		default:
			id := s.create(audio, fault)
			answer(w, 200, object{"Response": object{"RequestId": "r", "Data": object{"TaskId": id}}})
		}
	case "DescribeTaskStatus":
		s.describe(w, in.TaskId, fault, fail)
	default:
		fail("InvalidAction", action)
	}
}

// firstTask is above 2^53, where float64 cannot represent every integer.
const firstTask uint64 = 9007199254740993

func (s *apiServer) create(audio []byte, fault asrtest.Fault) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := firstTask + uint64(len(s.tasks))*2
	t := &task{text: asrtest.Heard(audio)}
	t.failed = fault == taskFails || fault == taskFailsOnce || strings.Contains(string(audio), "damaged")
	if fault == taskFailsOnce {
		s.SetFault(asrtest.NoFault)
	}
	s.tasks[id] = t
	return id
}

// describe answers "waiting" once, "doing" once, and then with the result of the task.
func (s *apiServer) describe(
	w http.ResponseWriter, id uint64, fault asrtest.Fault, fail func(code, message string),
) {
	s.mu.Lock()
	t := s.tasks[id]
	if t != nil && fault != taskSlow {
		t.polls++
	}
	s.mu.Unlock()
	if t == nil {
		fail("FailedOperation.NoSuchTask", "no such task")
		return
	}
	data := object{"TaskId": id, "Status": 0, "StatusStr": "waiting", "Result": "", "ErrorMsg": ""}
	first, rest, _ := strings.Cut(t.text, " bytes ")
	switch {
	case fault == taskSlow:
	case t.polls == 2:
		data["Status"], data["StatusStr"] = 1, "doing"
	case t.polls > 2 && t.failed:
		data["Status"], data["StatusStr"], data["ErrorMsg"] = 3, "failed", "audio decoding failed"
	case t.polls > 2:
		data["Status"], data["StatusStr"], data["AudioDuration"] = 2, "success", 1.0
		data["Result"] = fmt.Sprintf("[0:0.000,0:0.500]  %s bytes\n[0:0.500,0:1.000]  %s\n", first, rest)
	}
	answer(w, 200, object{"Response": object{"RequestId": "r", "Data": data}})
}

// checkTC3 verifies the TC3 signature of a request and returns an error code for a wrong one.
func checkTC3(r *http.Request, body []byte) string {
	stamp := r.Header.Get("X-TC-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age > 5*time.Minute || age < -5*time.Minute {
		return "AuthFailure.SignatureExpire"
	}
	hash := func(b []byte) string { sum := sha256.Sum256(b); return hex.EncodeToString(sum[:]) }
	sign := func(key []byte, text string) []byte {
		mac := hmac.New(sha256.New, key)
		_, _ = io.WriteString(mac, text)
		return mac.Sum(nil)
	}
	date := time.Unix(seconds, 0).UTC().Format("2006-01-02")
	scope := date + "/asr/tc3_request"
	canonical := strings.Join([]string{
		r.Method, "/", r.URL.RawQuery,
		"content-type:" + r.Header.Get("Content-Type") + "\nhost:" + r.Host + "\n", "content-type;host", hash(body),
	}, "\n")
	text := strings.Join([]string{"TC3-HMAC-SHA256", stamp, scope, hash([]byte(canonical))}, "\n")
	key := sign(sign(sign([]byte("TC3"+secretKey), date), "asr"), "tc3_request")
	want := fmt.Sprintf("TC3-HMAC-SHA256 Credential=%s/%s, SignedHeaders=content-type;host, Signature=%s",
		secretID, scope, hex.EncodeToString(sign(key, text)))
	if r.Header.Get("Authorization") != want {
		return "AuthFailure.SignatureFailure"
	}
	return ""
}
