package summary

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lessonkit.example/internal/retryafter"
)

const (
	attemptTime    = time.Minute            // of one attempt
	allTime        = 2 * time.Minute        // of all attempts
	minWait        = 500 * time.Millisecond // doubles with each attempt
	maxAnswerBytes = 1 << 20
	maxTextLength  = 20_000 // characters; the limit of a feedback record
)

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type answer struct {
	text      string
	truncated bool // at a length limit
}

// failure describes a failed attempt. It contains nothing that was sent or received but the status
// and well-known error codes.
type failure struct {
	status int // 0 if there was no answer
	reason string
	retry  bool          // another attempt may succeed
	wait   time.Duration // required by the endpoint; 0 if it named none
}

// complete sends requests until one succeeds, another attempt cannot succeed, or none could end
// before the deadline.
func (c *Chat) complete(ctx context.Context, messages []message) (answer, error) {
	// Strings always marshal.
	body, _ := json.Marshal(map[string]any{"model": c.model, "messages": messages, "stream": false})
	deadline := time.Now().Add(allTime)
	all, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for attempt := 1; ; attempt++ {
		a, failed := c.attempt(all, body)
		if failed == nil {
			return a, nil
		}
		if err := ctx.Err(); err != nil {
			return answer{}, fmt.Errorf("summarize: %w", err)
		}
		wait := cmp.Or(failed.wait, backoff(attempt))
		status, reason := slog.Int("status", failed.status), slog.String("reason", failed.reason)
		if !failed.retry || attempt == c.attempts || time.Until(deadline) <= wait {
			c.log.LogAttrs(ctx, slog.LevelWarn, "summary endpoint failed", status, reason,
				slog.Int("attempts", attempt))
			return answer{}, fmt.Errorf("summarize: chat-completions endpoint: %s", failed.reason)
		}
		c.log.LogAttrs(ctx, slog.LevelInfo, "summary endpoint is tried again", status, reason,
			slog.Duration("wait", wait))
		select {
		case <-time.After(wait):
		case <-all.Done():
		}
	}
}

// backoff returns the time to wait after an attempt: it doubles, and half of it is random.
func backoff(attempt int) time.Duration {
	d := minWait << (attempt - 1)
	return d/2 + rand.N(d/2)
}

func (c *Chat) attempt(ctx context.Context, body []byte) (answer, *failure) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, &failure{reason: "the request could not be created"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	c.authorize(req)
	resp, err := c.client.Do(req)
	if err != nil {
		return answer{}, connectionFailure(ctx, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	var a answer
	var failed *failure
	switch {
	case resp.StatusCode != http.StatusOK:
		failed = statusFailure(resp, data)
	case err != nil:
		failed = connectionFailure(ctx, err)
	case len(data) > maxAnswerBytes:
		failed = &failure{reason: fmt.Sprintf("the answer is longer than %d bytes", maxAnswerBytes)}
	default:
		a, failed = parseAnswer(data)
	}
	if failed != nil {
		failed.status = resp.StatusCode
	}
	return a, failed
}

// connectionFailure describes an attempt without an answer. It leaves out the text of the errors of
// net/http, which contain the URL, possibly with a key, and may quote what the server sent.
func connectionFailure(ctx context.Context, err error) *failure {
	f := &failure{reason: "the connection failed", retry: true}
	var timeout net.Error
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		f.reason = "no answer in time"
	case errors.As(err, &network):
		f.reason += ": " + network.Error()
	case errors.As(err, &certificate):
		f.reason += ": " + certificate.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.reason += ": the server closed it"
	}
	return f
}

// exhausted are the error codes of accounts that cannot be used, which are also sent with status
// 429.
var exhausted = []string{"insufficient_quota", "billing_hard_limit_reached", "account_deactivated"}

// errorCode matches the form of error codes, which are words of the protocol such as
// invalid_api_key and DeploymentNotFound. Anything else could be a part of the request.
var errorCode = regexp.MustCompile(`^(?:[a-z]+(?:_[a-z]+){1,5}|(?:[A-Z][a-z]+){2,6})$`)

func statusFailure(resp *http.Response, data []byte) *failure {
	s := resp.StatusCode
	f := &failure{reason: strings.TrimSpace(fmt.Sprintf("status %d %s", s, http.StatusText(s)))}
	var body struct {
		Error struct {
			Code any    `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	_ = json.Unmarshal(data, &body) // a body of another form has no code
	code, _ := body.Error.Code.(string)
	for _, c := range []string{code, body.Error.Type} {
		if errorCode.MatchString(c) {
			f.reason += " (" + c + ")"
			break
		}
	}
	switch {
	case s >= 300 && s < 400:
		f.reason += ": redirects are not followed, configure the final URL"
	case slices.Contains(exhausted, code), s == http.StatusNotImplemented:
	case s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s >= 500:
		f.retry, f.wait = true, retryafter.Parse(resp.Header)
	}
	return f
}

// thinking matches what reasoning models write before their answer: the tag at its start may be
// missing, and all of an answer that was cut off may be reasoning.
var thinking = regexp.MustCompile(`(?s)^(?:.*</think(?:ing)?>|\s*<think(?:ing)?>.*)`)

var (
	// markup matches what models put around the text: fences, tags and rules in a line of their
	// own, other fences, the marks of headings and bold words, and the backslash before a mark,
	// which stays.
	markup = regexp.MustCompile("(?m)^[ \t]*(?:```[\\w-]*|</?[a-z_]+(?: [\\w-]+=\"[^\"<>\n]*\")*>|-{3,})" +
		"[ \t\r]*(?:\n|\\z)|```|^#{1,6} +|\\*{2,}|\\\\([][_*#])")
	// gap matches more than an empty line, as markup leaves it.
	gap = regexp.MustCompile(`\n(?:[ \t\r]*\n){2,}`)
	// preamble matches a first line such as "Here is the feedback for [NAME_1_1]:". A line with
	// figures or several clauses may say something.
	preamble = regexp.MustCompile(`(?i)^(?:(?:sure|certainly|of course|好的|当然)[,，!！.。 ]*)?` +
		`(?:here(?:['’]s| is| are)\b|以下|下面)(?:\[\w+\]|[^\n\d,，.。])*` +
		`(?:feedback|summary|report|反馈|总结|报告)(?: text|内容)?` +
		`(?: for \[\w+\](?:['’]s family)?)?[:：]\s*\n`)
	// refusal matches the start of an answer in which a model declines; a teacher may
	// write so, too.
	refusal = regexp.MustCompile(`(?i)^(?:(?:(?:i['’]m|i am)?(?: very| so)? ?sorry[,.]? (?:but )?)?` +
		`(?:as an ai\b|(?:i (?:can['’]?t|cannot|am unable to|am not able to)|i['’]m (?:unable|not able) to)` +
		` (?:help|assist|comply|write|create|generate|provide|process|fulfil+|complete|answer|discuss)\b` +
		`(?: you)?(?: with)?(?: that| this)?)|` +
		`(?:(?:[你您]好|(?:很|非常)?抱歉|对不起)[，,。！! ]*)*(?:作为一?[个名]?(?:AI|人工智能)|` +
		`我[^们，,。！\n]{0,8}(?:无法|無法|不能|没办法|没学会)(?:[为帮给][你您])?` +
		`(?:帮助|协助|处理|回答|提供|生成|完成|给到|满足|撰?写)))`)
)

func plainText(text string) string {
	text = markup.ReplaceAllString(thinking.ReplaceAllString(text, ""), "$1")
	text = gap.ReplaceAllString(text, "\n\n")
	return strings.TrimSpace(preamble.ReplaceAllString(strings.TrimSpace(text), ""))
}

// What finish_reason says of answers that are not whole: OpenAI's words and, among others, those of
// DeepSeek, GLM and OpenRouter.
var (
	atLimit   = []string{"length", "max_tokens", "model_context_window_exceeded"}
	declined  = []string{"content_filter", "sensitive", "safety"}
	brokenOff = []string{"insufficient_system_resource", "network_error", "error"}
)

func parseAnswer(data []byte) (answer, *failure) {
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
		if _, ok := errors.AsType[*json.SyntaxError](err); ok && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			return answer{}, &failure{reason: "the answer is not valid JSON", retry: true}
		}
		return answer{}, &failure{reason: "the answer is not that of a chat-completions endpoint: is the URL right?"}
	}
	if len(body.Choices) == 0 {
		return answer{}, &failure{reason: "the answer has no choices", retry: true}
	}
	first := body.Choices[0]
	text, ok := content(first.Message.Content)
	text = plainText(text)
	end := strings.ToLower(first.FinishReason)
	truncated := slices.Contains(atLimit, end)
	switch {
	case !ok:
		return answer{}, &failure{reason: "the answer's content is neither text nor a list of text parts"}
	case slices.Contains(declined, end) || first.Message.Refusal != "":
		return answer{}, &failure{reason: "the model declined to write about this content"}
	case slices.Contains(brokenOff, end):
		return answer{}, &failure{reason: "the service broke off the answer", retry: true}
	case isNoise(text) && truncated: // after reasoning, as it would be again
		return answer{}, &failure{reason: "the answer reached the length limit of the service before its text began"}
	case isNoise(text):
		return answer{}, &failure{reason: "the answer is empty", retry: true}
	case utf8.RuneCountInString(text) > maxTextLength:
		return answer{}, &failure{reason: fmt.Sprintf("the text is longer than %d characters", maxTextLength)}
	}
	return answer{text: text, truncated: truncated}, nil
}

// content returns a message's content, which is a string, null, or a list of parts.
func content(raw json.RawMessage) (string, bool) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
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
