package cloud

import (
	"net/http"
	"strconv"
	"strings"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

const flashRecognitionFailed = "5002"

// flashError maps an error code of the flash interface (documents 1093/52097 and 1093/52099).
func flashError(code int, message string) error {
	e := &asr.Error{Op: flashOp, Code: strconv.Itoa(code), Message: message}
	switch code {
	case 4001, 4002, 6001: // parameter, signature, call from abroad
		e.Class = asr.ErrMisconfigured
	case 4003, 4004, 4005: // service not enabled, quota used up, overdue
		e.Class = asr.ErrRefused
	case 4006, 4008, 4009: // too many at once, slow upload, disconnected
		e.Class = asr.ErrUnavailable
	case 5003: // the engine took too long
		e.Class = asr.ErrLost
	case 4007, 4010, 4011, 4012, 5002: // undecodable, unexpected text message, too large, empty, failed
		e.Class = asr.ErrUnusableAudio
	}
	return e
}

// apiError maps an error code of API 3.0. The more specific codes come first.
func apiError(op, code, message string) *asr.Error {
	e := &asr.Error{Op: op, Code: code, Message: message}
	is := func(names ...string) bool {
		for _, n := range names {
			if code == n || strings.HasPrefix(code, n+".") {
				return true
			}
		}
		return false
	}
	switch { // without a class: InternalError, FailedOperation.ErrorRecognize
	case is("RequestLimitExceeded", "ClientError"):
		e.Class = asr.ErrUnavailable
	case is("FailedOperation.UserHasNoAmount", "FailedOperation.UserHasNoFreeAmount", "FailedOperation.ServiceIsolate",
		"FailedOperation.UserNotRegistered", "LimitExceeded"):
		e.Class = asr.ErrRefused
	case is("AuthFailure", "UnauthorizedOperation"):
		e.Class = asr.ErrMisconfigured
	case is("InvalidParameterValue.ErrorInvalidVoicedata", "InvalidParameterValue.ErrorVoicedataTooLong",
		"InvalidParameterValue.ErrorInvalidVoiceFormat", "InvalidParameter.ErrorContentlength",
		"InvalidParameter.FileEncode"):
		e.Class = asr.ErrUnusableAudio
	case is("InvalidParameter", "InvalidParameterValue", "MissingParameter", "UnknownParameter"):
		e.Class, e.Final = asr.ErrMisconfigured, true // a wrong engine, or a bug in this package
	}
	return e
}

// statusError maps an answer that does not come from the interface itself, which always answers
// 200: it cannot tell what the recording is like, except that it is too large.
func statusError(op string, resp *http.Response) *asr.Error {
	e := provider.StatusError(op, resp, http.StatusText(resp.StatusCode))
	switch s := resp.StatusCode; {
	case e.Class == asr.ErrUnusableAudio && s != http.StatusRequestEntityTooLarge:
		e.Class = asr.ErrMisconfigured
	case e.Class == nil && s > http.StatusInternalServerError:
		e.Class = asr.ErrUnavailable
	}
	return e
}
