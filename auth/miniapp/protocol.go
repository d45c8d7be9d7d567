package miniapp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"lessonkit.example/auth"
)

// request returns the request that exchanges a code.
func (c Config) request(ctx context.Context, code string) (*http.Request, error) {
	query := url.Values{
		"appid":      {c.AppID},
		"secret":     {c.Secret},
		"js_code":    {code},
		"grant_type": {"authorization_code"},
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, c.Endpoint+"?"+query.Encode(), nil)
}

// answer is a platform's answer to a code that it accepted.
type answer struct{ subject, unionID string }

// read parses an answer. It ignores the content type: real platforms send JSON as text/plain. Names
// are matched exactly, as encoding/json does not do for struct fields.
func read(status int, body []byte) (answer, error) {
	fault := func(format string, args ...any) error {
		return &auth.ExchangeError{Kind: auth.ErrPlatform, Message: fmt.Sprintf(format, args...)}
	}
	if status != http.StatusOK {
		return answer{}, fault("HTTP status %d", status)
	}
	if len(body) > maxAnswerBytes {
		return answer{}, fault("answer is longer than %d bytes", maxAnswerBytes)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return answer{}, fault("answer is not a JSON object")
	}
	code, ok := field[int64](fields["errcode"])
	if !ok {
		return answer{}, fault("errcode is not a number")
	}
	if code != 0 {
		e := refusal(code)
		e.Message, _ = field[string](fields["errmsg"])
		return answer{}, e
	}
	var a answer
	var okSubject, okUnion bool
	a.subject, okSubject = field[string](fields["openid"])
	a.unionID, okUnion = field[string](fields["unionid"])
	if !okSubject || !okUnion {
		return answer{}, fault("openid or unionid is not a string")
	}
	if a.subject == "" {
		return answer{}, fault("answer has neither an error nor an openid")
	}
	return a, nil
}

// field parses a field; a missing or null one is zero.
func field[T any](raw json.RawMessage) (value T, ok bool) {
	if raw == nil {
		return value, true
	}
	err := json.Unmarshal(raw, &value)
	return value, err == nil
}

type meaning struct {
	kind  error
	after time.Duration
}

// refusal is the meaning of an error code. The platform documents -1, 40029, 40226 and 45011; the
// others listed occur in practice; any other is [auth.ErrPlatform].
func refusal(code int64) *auth.ExchangeError {
	m, known := map[int64]meaning{
		-1:    {auth.ErrPlatformBusy, 2 * time.Second},
		40002: {auth.ErrMisconfigured, 0},         // invalid grant_type
		40013: {auth.ErrMisconfigured, 0},         // invalid appid
		40029: {auth.ErrCodeRejected, 0},          // invalid or expired code
		40125: {auth.ErrMisconfigured, 0},         // invalid secret
		40163: {auth.ErrCodeRejected, 0},          // used code
		40164: {auth.ErrMisconfigured, 0},         // our network address is not on the allowlist
		40226: {auth.ErrBlocked, 0},               // user is considered a risk
		41002: {auth.ErrMisconfigured, 0},         // appid missing
		41004: {auth.ErrMisconfigured, 0},         // secret missing
		41008: {auth.ErrCodeMissing, 0},           // code missing
		45011: {auth.ErrRateLimited, time.Minute}, // 100 a minute for each user
	}[code]
	if !known {
		m.kind = auth.ErrPlatform
	}
	return &auth.ExchangeError{Kind: m.kind, PlatformCode: strconv.FormatInt(code, 10), After: m.after}
}
