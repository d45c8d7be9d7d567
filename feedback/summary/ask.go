package summary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Settings of the attempts.
const (
	firstWait   = 500 * time.Millisecond // doubles with each attempt
	longestWait = 10 * time.Second
	awayFor     = 30 * time.Second // what RetryAfter says of an endpoint that named no time
)

// maxText is the longest feedback text that a record takes, in characters.
const maxText = 20_000

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// answer is the text an endpoint wrote.
type answer struct {
	text string
	cut  bool // it stopped at a length limit
}

// body is the request for transcripts, each marked as what it is.
func (c *Chat) body(transcripts []string) ([]byte, error) {
	var b strings.Builder
	for i, t := range transcripts {
		fmt.Fprintf(&b, "<lesson number=\"%d\">\n%s\n</lesson>\n", i+1, strings.TrimSpace(t))
	}
	fields := map[string]any{}
	maps.Copy(fields, c.parameters)
	fields["model"] = c.model
	fields["messages"] = []message{{"system", c.prompt}, {"user", b.String()}}
	fields["stream"] = false
	return json.Marshal(fields)
}

// ask sends the request until there is an answer, another attempt cannot help,
// or it could not end before the deadline.
func (c *Chat) ask(ctx context.Context, transcripts []string) (answer, error) {
	body, err := c.body(transcripts)
	if err != nil {
		return answer{}, fmt.Errorf("summarize: write request: %w", err)
	}
	all, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	for attempt := 1; ; attempt++ {
		a, fault := c.attempt(all, body)
		if fault == nil {
			return a, nil
		}
		if err := ctx.Err(); err != nil {
			return answer{}, fmt.Errorf("summarize: %w", err)
		}
		fault.Attempts = attempt
		wait := backoff(attempt)
		if fault.wait > 0 {
			wait = fault.wait
		}
		end, _ := all.Deadline()
		if !fault.again || attempt == c.attempts || time.Until(end) <= wait {
			c.log.LogAttrs(ctx, slog.LevelWarn, "summary endpoint failed", slog.Int("status", fault.Status), slog.String("error", fault.Error()))
			return answer{}, fault
		}
		c.log.LogAttrs(ctx, slog.LevelInfo, "summary endpoint asked again", slog.Int("status", fault.Status), slog.Duration("after", wait), slog.String("error", fault.Error()))
		select {
		case <-time.After(wait):
		case <-all.Done():
		}
	}
}

// backoff is the wait after an attempt: doubling, the half of it by chance, so
// that many clients do not come back together.
func backoff(attempt int) time.Duration {
	d := min(firstWait<<(min(attempt, 10)-1), longestWait)
	return d/2 + rand.N(d/2)
}

// attempt sends the request once.
func (c *Chat) attempt(ctx context.Context, body []byte) (answer, *ChatError) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, &ChatError{reason: "the request could not be made", permanent: true}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	c.authorize(req)
	resp, err := c.client.Do(req)
	if err != nil {
		return answer{}, connectionError(ctx, err)
	}
	defer drain(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return answer{}, statusError(resp)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, c.maxAnswerBytes+1))
	if err != nil {
		e := connectionError(ctx, err)
		e.Status = resp.StatusCode
		if e.cause == nil {
			e.reason = "the answer was cut off"
		}
		return answer{}, e
	}
	if int64(len(data)) > c.maxAnswerBytes {
		return answer{}, &ChatError{Status: resp.StatusCode, reason: fmt.Sprintf("the answer is longer than %d bytes", c.maxAnswerBytes)}
	}
	a, fault := parse(data)
	if fault != nil {
		fault.Status = resp.StatusCode
	}
	return a, fault
}

// connectionError describes a request without an answer. The error of package
// http is not kept: it holds the URL, whose query may hold a key, and may quote
// what the other side sent.
func connectionError(ctx context.Context, err error) *ChatError {
	e := &ChatError{reason: "the connection failed", again: true, away: true}
	var netErr interface{ Timeout() bool }
	if ctx.Err() != nil || errors.As(err, &netErr) && netErr.Timeout() {
		e.reason, e.cause = "no answer in time", context.DeadlineExceeded
		return e
	}
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	if text, ok := networkFault(err); ok {
		e.reason += ": " + text
	}
	return e
}

// codes are the error codes that may be repeated: words of the protocol, which
// cannot hold anything of the request.
var codes = map[string]bool{
	"invalid_api_key": true, "insufficient_quota": true, "rate_limit_exceeded": true, "model_not_found": true,
	"context_length_exceeded": true, "content_filter": true, "invalid_request_error": true, "server_error": true,
	"authentication_error": true, "permission_error": true, "not_found_error": true, "overloaded_error": true,
	"billing_hard_limit_reached": true, "account_deactivated": true, "unsupported_parameter": true, "string_above_max_length": true,
}

// statusError describes an answer other than 200.
func statusError(resp *http.Response) *ChatError {
	e := &ChatError{Status: resp.StatusCode, reason: fmt.Sprintf("it answered %d", resp.StatusCode)}
	if text := http.StatusText(resp.StatusCode); text != "" {
		e.reason += " " + text
	}
	var body struct {
		Error struct {
			Code any    `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if json.Unmarshal(data, &body) == nil {
		if code, _ := body.Error.Code.(string); codes[code] {
			e.Code = code
		} else if codes[body.Error.Type] {
			e.Code = body.Error.Type
		}
	}
	switch s := resp.StatusCode; {
	case s >= 300 && s < 400:
		e.reason += ": redirects are not followed, configure the final address"
		e.permanent = true
	case e.Code == "insufficient_quota" || e.Code == "billing_hard_limit_reached" || e.Code == "account_deactivated":
		e.permanent = true // also sent with 429
	case s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s >= 500:
		e.again = s != http.StatusNotImplemented
		e.away = e.again
		e.wait = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	default:
		e.permanent = true
	}
	return e
}

// retryAfter reads a Retry-After header: seconds or a date. Without one it is 0.
func retryAfter(h string, now time.Time) time.Duration {
	h = strings.TrimSpace(h)
	if s, err := strconv.ParseFloat(h, 64); err == nil && s > 0 {
		return time.Duration(min(s, 86400) * float64(time.Second))
	}
	if at, err := http.ParseTime(h); err == nil && at.After(now) {
		return min(at.Sub(now), 24*time.Hour)
	}
	return 0
}

// thinking is what reasoning models write before their answer.
var thinking = regexp.MustCompile(`(?s)^\s*<think(?:ing)?>.*?</think(?:ing)?>`)

// parse reads the text out of an answer.
func parse(data []byte) (answer, *ChatError) {
	var body struct {
		Choices []struct {
			Message struct {
				Content json.RawMessage `json:"content"`
				Refusal string          `json:"refusal"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		e := &ChatError{reason: "the answer is not that of a chat-completions endpoint: is the URL right?", permanent: true}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			e = &ChatError{reason: "the answer is not valid JSON", again: true}
		}
		return answer{}, e
	}
	if len(body.Choices) == 0 {
		return answer{}, &ChatError{reason: "the answer has no choices", again: true}
	}
	first := body.Choices[0]
	text, ok := content(first.Message.Content)
	text = strings.TrimSpace(strings.Map(visible, thinking.ReplaceAllString(text, "")))
	switch {
	case !ok:
		return answer{}, &ChatError{reason: "the answer's content is neither text nor text parts", permanent: true}
	case first.FinishReason == "content_filter" || first.Message.Refusal != "":
		return answer{}, &ChatError{reason: "it declined to write about this content", permanent: true}
	case isNoise(text):
		return answer{}, &ChatError{reason: "the answer is empty", again: true}
	case utf8.RuneCountInString(text) > maxText:
		return answer{}, &ChatError{reason: fmt.Sprintf("the text is longer than %d characters", maxText)}
	}
	return answer{text: text, cut: first.FinishReason == "length"}, nil
}

// content reads a message's content: a string, or parts of which some are text.
func content(raw json.RawMessage) (string, bool) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil { // null is no text
		return text, true
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", false
	}
	for _, p := range parts {
		if p.Type == "text" || p.Type == "output_text" {
			text += p.Text
		}
	}
	return text, true
}

func visible(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}
