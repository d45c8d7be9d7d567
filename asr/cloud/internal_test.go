package cloud

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
)

func TestTimeMarksBecomeSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, result, text string
		segments           []asr.Segment
	}{
		{"lines", "[0:0.000,0:3.250]  一。\n[0:3.250,12:5.5]  二。\n", "一。二。", []asr.Segment{
			{Start: 0, End: 3250 * time.Millisecond, Text: "一。"},
			{Start: 3250 * time.Millisecond, End: 12*time.Minute + 5500*time.Millisecond, Text: "二。"},
		}},
		{"with speakers", "[0:0.000,0:1.000,0]  hello\n[0:1.000,0:2.000,1]  world\n", "hello world", []asr.Segment{
			{End: time.Second, Text: "hello"},
			{Start: time.Second, End: 2 * time.Second, Text: "world"},
		}},
		{"no marks", "plain text", "plain text", nil},
		{"marks on some lines", "[0:0.000,0:1.000]  a\nb\n", "a b", nil},
		{"nothing", "", "", nil},
		{"brackets that are text", "[笑] 好", "[笑] 好", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := (&taskStatus{Result: c.result}).transcript()
			require.Equal(t, c.text, got.Text)
			require.Equal(t, c.segments, got.Segments)
		})
	}
}

func TestTaskNamesCanBeParsed(t *testing.T) {
	t.Parallel()
	for _, task := range []cloudTask{
		{1, time.Unix(0, 0).UTC(), 1},
		{18446744073709551615, time.Unix(1764000000, 0).UTC(), 2},
		{9007199254740993, time.Unix(1, 0).UTC(), 1},
	} {
		got, ok := parseTask(task.String())
		require.True(t, ok)
		require.Equal(t, task, got)
	}
}

func TestClassesOfAPICodes(t *testing.T) {
	t.Parallel()
	for class, codes := range map[error][]string{
		nil:                {"InternalError", "InternalError.ErrorRecognize", "FailedOperation.ErrorRecognize", "New"},
		asr.ErrUnavailable: {"RequestLimitExceeded", "RequestLimitExceeded.UinLimitExceeded"},
		asr.ErrRefused: {"FailedOperation.UserHasNoAmount", "FailedOperation.UserHasNoFreeAmount",
			"FailedOperation.ServiceIsolate", "FailedOperation.UserNotRegistered", "LimitExceeded"},
		asr.ErrMisconfigured: {"AuthFailure.SignatureFailure", "AuthFailure.SignatureExpire", "UnauthorizedOperation",
			"InvalidParameter", "InvalidParameterValue.ErrorInvalidEngservice", "MissingParameter",
			"UnknownParameter"},
		asr.ErrUnusableAudio: {"InvalidParameterValue.ErrorInvalidVoicedata",
			"InvalidParameterValue.ErrorVoicedataTooLong", "InvalidParameterValue.ErrorInvalidVoiceFormat",
			"InvalidParameter.ErrorContentlength", "InvalidParameter.FileEncode"},
	} {
		for _, code := range codes {
			e := apiError(taskOp, code, "because")
			require.Equal(t, class, e.Class, code)
			require.Equal(t, strings.Contains(code, "Parameter"), e.Permanent(), code)
			require.Equal(t, code, e.Code)
		}
	}
}

func FuzzFlashAnswer(f *testing.F) {
	for _, s := range []string{
		`{"code":0,"audio_duration":1000,"flash_result":[{"text":"a","sentence_list":[
			{"text":"a","start_time":0,"end_time":500,"speaker_id":1}]}]}`,
		`{"code":4007,"message":"x"}`, `{}`, ``, `<html>`,
		`{"code":0,"audio_duration":-1,"flash_result":[{"text":"\ud800"}]}`,
		`{"code":0,"audio_duration":9223372036854775807}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		tr, err := parseFlash(body, asr.Audio{})
		if err == nil && (!utf8.ValidString(tr.Text) || tr.Duration < 0) {
			t.Fatalf("%+v", tr)
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Fatalf("error of %d bytes", len(err.Error()))
		}
	})
}

func TestErrorsDoNotRepeatWhatWasSaidOrSent(t *testing.T) {
	t.Parallel()
	sent := asr.Audio{Words: []string{"雨桐"}}
	_, err := parseFlash([]byte(`{"flash_result":[{"text":"played it twice"}]}`), sent)
	require.ErrorContains(t, err, "the answer cannot be parsed: JSON of 45 bytes")
	_, err = parseFlash([]byte(`{"code":4001,"message":"hotword_list 雨桐|10 is invalid"}`), sent)
	require.ErrorContains(t, err, "hotword_list …|10 is invalid")
}

func FuzzTaskResult(f *testing.F) {
	f.Add("[0:0.000,0:3.250]  a\n[0:3.250,12:5.5,1]  b\n")
	f.Add("[999999999999999999999:0.0,0:0.0] x")
	f.Add("[:,]\n\n")
	f.Fuzz(func(t *testing.T, result string) {
		tr := (&taskStatus{Result: result}).transcript()
		for _, s := range tr.Segments {
			if s.Start < 0 || s.End < 0 {
				t.Fatalf("%+v", s)
			}
		}
	})
}
