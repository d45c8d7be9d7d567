package summary

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"lessonkit.example/feedback"
)

//go:embed prompt.txt
var prompt string

// ChatConfig configures a [Chat]. URL and Model are required.
type ChatConfig struct {
	// URL is the endpoint: its full address, or a base URL to which the usual path is added. A base
	// URL has no path (https://host, meaning /v1/chat/completions) or a path that ends in a version
	// or a slash (https://host/v1, https://host/x/, meaning /chat/completions below it). Redirects
	// are not followed.
	URL string

	// APIKey is sent as bearer token. If empty, none is sent.
	APIKey string

	// Model is the name of the model.
	Model string

	// Client provides the transport; its other settings are not used. If nil,
	// http.DefaultTransport is used.
	Client *http.Client

	// Logger receives failed attempts. If nil, nothing is logged.
	Logger *slog.Logger
}

// String describes the configuration without the key.
func (c ChatConfig) String() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return fmt.Sprintf("model %q at an invalid URL", c.Model)
	}
	return fmt.Sprintf("model %q at %s://%s", c.Model, u.Scheme, u.Host)
}

// GoString is String, so that %#v does not print the key.
func (c ChatConfig) GoString() string { return c.String() }

// LogValue is String, so that a logger does not print the key.
func (c ChatConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Chat is a [feedback.Summarizer] that uses an endpoint of the chat-completions protocol. It is
// safe for concurrent use.
//
// It makes up to four attempts after 429, 5xx and broken connections, each of at most a minute, and
// waits as long as Retry-After requires, for at most two minutes in all. Transcripts of more than
// 20,000 words are shortened by [Local].
//
// Names of people in the input are sent as placeholders and restored in the answer: whole names,
// their parts, the short forms usual in Chinese, and names with a Korean particle. Not recognised
// are parts of a single letter or character, names that are also common words (Will, May) in
// another case than given, and names that were misheard.
type Chat struct {
	url           string
	authorize     func(*http.Request) // a function, so that printing a Chat does not print the key
	model         string
	timeout       time.Duration // of an attempt
	deadline      time.Duration // of all attempts
	attempts      int
	maxInputWords int
	client        *http.Client
	log           *slog.Logger
}

var _ feedback.Summarizer = (*Chat)(nil)

// NewChat validates the configuration; it does not connect to the endpoint. Its error names the
// invalid field and does not contain the key.
func NewChat(cfg ChatConfig) (*Chat, error) {
	u, err := endpointURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(cfg.Model) == "" {
		return nil, errors.New("summary: Model is empty")
	}
	if strings.ContainsFunc(cfg.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("summary: APIKey contains a space, a line break or another invalid character")
	}
	c := &Chat{
		url:           u,
		authorize:     func(*http.Request) {},
		model:         cfg.Model,
		timeout:       time.Minute,
		deadline:      2 * time.Minute,
		attempts:      4,
		maxInputWords: 20_000,
		// A redirect could take transcripts anywhere.
		client: &http.Client{CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		}},
		log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}
	if key := cfg.APIKey; key != "" {
		c.authorize = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
	}
	if cfg.Client != nil {
		c.client.Transport = cfg.Client.Transport
	}
	return c, nil
}

// version matches a path that ends in a version such as v1 or v1beta.
var version = regexp.MustCompile(`/v\d+[a-z0-9]*$`)

// endpointURL completes a base URL. Its errors do not contain the URL, which may contain a key.
func endpointURL(s string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("summary: URL is not of the form https://host/path")
	case u.User != nil:
		return "", errors.New("summary: URL contains a user name or password; use APIKey")
	case u.Fragment != "":
		return "", errors.New("summary: URL contains a fragment (#…)")
	case u.Path == "" || u.Path == "/":
		u.Path = "/v1/chat/completions"
	case strings.HasSuffix(u.Path, "/") || version.MatchString(u.Path):
		u = u.JoinPath("chat/completions")
	}
	return u.String(), nil
}

// Summarize implements [feedback.Summarizer]. No error contains a key, a transcript or a name.
func (c *Chat) Summarize(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	if err := ctx.Err(); err != nil {
		return feedback.Summary{}, err
	}
	transcripts, left, err := c.input(ctx, textsOf(in.Lessons))
	if err != nil {
		return feedback.Summary{}, err
	}
	n := newNames([]string{in.Student}, transcripts)
	for i, t := range transcripts {
		transcripts[i] = n.hide(t)
	}
	a, err := c.complete(ctx, transcripts)
	if err != nil {
		return feedback.Summary{}, err
	}
	text, known := n.restore(a.text)
	out := feedback.Summary{Text: text, Source: feedback.SummaryRemote}
	if len(left) > 0 {
		warnShortened(&out, left)
	}
	if a.truncated {
		warn(&out, feedback.WarningIncomplete)
	}
	if !known {
		warn(&out, feedback.WarningUnknownName)
	}
	return out, nil
}

// input returns the transcripts that contain words, shortened if they are too long, and the
// sentences that were left out.
func (c *Chat) input(ctx context.Context, transcripts []string) (out, left []string, err error) {
	words := 0
	for _, t := range transcripts {
		if !isNoise(t) {
			words += countWords(t)
			out = append(out, norm.NFC.String(strings.ToValidUTF8(t, ""))) // the form of the names
		}
	}
	if words == 0 {
		return nil, nil, errNoWords
	}
	if words <= c.maxInputWords {
		return out, nil, nil
	}
	text, left, err := Local{MaxWords: c.maxInputWords}.text(ctx, out, nil)
	return []string{text}, left, err
}
