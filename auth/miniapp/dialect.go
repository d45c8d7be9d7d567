package miniapp

import (
	"bytes"
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
	if c.Dialect == JSON {
		body, err := json.Marshal(map[string]string{"appid": c.AppID, "secret": c.Secret, "code": code})
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.GetBody = nil // it must not be sent again
		req.Header.Set("Content-Type", "application/json")
		return req, nil
	}
	query := url.Values{
		"appid":      {c.AppID},
		"secret":     {c.Secret},
		"js_code":    {code},
		"grant_type": {"authorization_code"},
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint()+"?"+query.Encode(), nil)
}

// answer is a platform's answer to a code that it accepted.
type answer struct{ subject, unionID string }

// read parses an answer. It ignores the content type: real platforms send JSON as text/plain. Names
// are matched exactly, as encoding/json does not do for struct fields.
func (d Dialect) read(status int, body []byte) (answer, error) {
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
	for _, f := range d.errorFields() {
		code, ok := number(fields[f.code])
		if !ok {
			return answer{}, fault("%s is not a number", f.code)
		}
		if code != 0 {
			e := d.table().refusal(code)
			e.Message, _ = text(fields[f.message])
			return answer{}, e
		}
	}
	if d == JSON {
		var data map[string]json.RawMessage
		if err := json.Unmarshal(fields["data"], &data); err != nil {
			return answer{}, fault("data is not a JSON object")
		}
		fields = data
	}
	var a answer
	var okSubject, okUnion bool
	a.subject, okSubject = text(fields["openid"])
	a.unionID, okUnion = text(fields["unionid"])
	if !okSubject || !okUnion {
		return answer{}, fault("openid or unionid is not a string")
	}
	if a.subject == "" {
		return answer{}, fault("answer has neither an error nor an openid")
	}
	return a, nil
}

type errorField struct{ code, message string }

// errorFields returns the fields of an answer that report an error. The JSON dialect used the query
// dialect's names before its version 2.
func (d Dialect) errorFields() []errorField {
	fields := []errorField{{"errcode", "errmsg"}}
	if d == JSON {
		fields = append(fields, errorField{"err_no", "err_tips"})
	}
	return fields
}

// number parses an integer; a missing or null one is 0.
func number(raw json.RawMessage) (n int64, ok bool) {
	if raw == nil {
		return 0, true
	}
	return n, json.Unmarshal(raw, &n) == nil
}

// text parses a string; a missing or null one is "".
func text(raw json.RawMessage) (s string, ok bool) {
	if raw == nil {
		return "", true
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// errorTable maps a platform's error codes. Other codes are [auth.ErrPlatform].
type errorTable map[int64]meaning

type meaning struct {
	kind  error
	after time.Duration
}

// queryErrors returns the codes of the query dialect. The platform documents -1, 40029, 40226 and
// 45011; the others occur in practice.
func queryErrors() errorTable {
	return errorTable{
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
	}
}

// jsonErrors returns the codes of the JSON dialect.
func jsonErrors() errorTable {
	return errorTable{
		-1:    {auth.ErrPlatformBusy, 2 * time.Second},
		40015: {auth.ErrMisconfigured, 0}, // wrong appid
		40017: {auth.ErrMisconfigured, 0}, // wrong secret
		40018: {auth.ErrCodeRejected, 0},  // wrong code
		40019: {auth.ErrCodeRejected, 0},  // wrong anonymous code
	}
}

func (d Dialect) table() errorTable {
	if d == JSON {
		return jsonErrors()
	}
	return queryErrors()
}

func (t errorTable) refusal(code int64) *auth.ExchangeError {
	m, known := t[code]
	if !known {
		m.kind = auth.ErrPlatform
	}
	return &auth.ExchangeError{Kind: m.kind, PlatformCode: strconv.FormatInt(code, 10), After: m.after}
}
