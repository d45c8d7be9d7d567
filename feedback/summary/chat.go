package summary

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"lessonkit.example/feedback"
)

// DefaultPrompt is what the endpoint is told when [ChatConfig] names no other prompt.
//
//go:embed prompt.txt
var DefaultPrompt string

// ChatConfig configures a [Chat]. URL and Model are required.
type ChatConfig struct {
	// URL is the endpoint: the full address, or a base to which the usual path is
	// added. A base has no path (https://host, meaning /v1/chat/completions), or
	// one that ends in a version or a slash (https://host/v1, https://host/x/,
	// meaning /chat/completions below it). It is the operator's choice and may be
	// inside the network; redirects to elsewhere are refused.
	URL string

	// Key is sent as bearer token. If empty, none is sent.
	Key string

	// Model is the name of the model to ask.
	Model string

	// Timeout bounds one attempt. Defaults to 60 seconds.
	Timeout time.Duration

	// Deadline bounds all attempts and the waits between them. Defaults to twice
	// the timeout.
	Deadline time.Duration

	// Attempts bounds how often the endpoint is asked. Defaults to 4.
	Attempts int

	// Prompt tells the endpoint what to write; it comes before the transcripts as
	// the system message. Defaults to [DefaultPrompt].
	Prompt string

	// Parameters are further fields of the request, such as temperature or
	// max_tokens. They may not name model, messages or stream.
	Parameters map[string]any

	// SendNames sends the names of people as they are. By default each name that
	// the input lists is sent as a token and put back in the answer: whole, by its
	// parts, and in the short forms usual in Chinese, also before a Korean particle. Not to be told from other words
	// are a part of a single letter or character, a name that is also a common word
	// (Will, May) in another case than listed, and a name that was misheard.
	SendNames bool

	// MaxInputWords bounds what is sent, counted as for [Extractive], which
	// shortens what is longer. Defaults to 20 000.
	MaxInputWords int

	// MaxAnswerBytes bounds the endpoint's answer. Defaults to 1 MiB.
	MaxAnswerBytes int64

	// Client sends the requests. Its timeout, cookie jar and redirect rule are not
	// used. If nil, a client of its own that honours the proxy variables.
	Client *http.Client

	// Logger is told of attempts that failed. If nil, nothing is logged.
	Logger *slog.Logger
}

// String describes the configuration without the key.
func (c ChatConfig) String() string {
	u, err := url.Parse(c.URL)
	host := "an invalid URL"
	if err == nil {
		host = u.Scheme + "://" + u.Host
	}
	return fmt.Sprintf("model %q at %s", c.Model, host)
}

// GoString is String, so that no way of printing shows the key.
func (c ChatConfig) GoString() string { return c.String() }

// LogValue is String, so that a logger does not show the key.
func (c ChatConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Chat is a [feedback.Summarizer] that has the text written by an endpoint of
// the chat-completions protocol. It is safe for concurrent use.
//
// It asks again after 429, 5xx and broken connections while its deadline allows,
// and as late as a Retry-After header says. It fails with a [*ChatError], with
// [ErrNoText], or with the context's error.
type Chat struct {
	url            string
	authorize      func(*http.Request) // keeps the key out of whatever prints a Chat
	model, prompt  string
	parameters     map[string]any
	timeout        time.Duration
	deadline       time.Duration
	attempts       int
	sendNames      bool
	maxInputWords  int
	maxAnswerBytes int64
	client         *http.Client
	log            *slog.Logger
}

var _ feedback.Summarizer = (*Chat)(nil)

// NewChat checks the configuration; it connects to nothing. The error names the
// field that is wrong, and never the key.
func NewChat(cfg ChatConfig) (*Chat, error) {
	u, err := endpointURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(cfg.Model) == "" {
		return nil, errors.New("summary: Model is empty: name the model to ask")
	}
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("summary: Key holds a space, a line end or another character that no key has")
	}
	for name := range cfg.Parameters {
		if name == "model" || name == "messages" || name == "stream" {
			return nil, fmt.Errorf("summary: Parameters may not set %q", name)
		}
	}
	c := &Chat{
		url: u, model: cfg.Model, parameters: cfg.Parameters, sendNames: cfg.SendNames,
		authorize:      func(*http.Request) {},
		prompt:         cmp.Or(cfg.Prompt, DefaultPrompt),
		timeout:        cmp.Or(max(0, cfg.Timeout), time.Minute),
		attempts:       cmp.Or(max(0, cfg.Attempts), 4),
		maxInputWords:  cmp.Or(max(0, cfg.MaxInputWords), 20_000),
		maxAnswerBytes: cmp.Or(max(0, cfg.MaxAnswerBytes), 1<<20),
		log:            cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}
	c.deadline = cmp.Or(max(0, cfg.Deadline), 2*c.timeout)
	if key := cfg.Key; key != "" {
		c.authorize = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
	}
	c.client = withoutRedirects(cfg.Client)
	if _, err := c.body(nil); err != nil {
		return nil, fmt.Errorf("summary: Parameters cannot be written as JSON: %w", err)
	}
	return c, nil
}

// version is a path element such as v1 or v1beta.
var version = regexp.MustCompile(`/v\d+[a-z0-9]*$`)

// endpointURL completes a base URL and refuses what is none. Its errors do not
// repeat the URL, which may hold a key.
func endpointURL(s string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("summary: URL is not of the form https://host/path")
	case u.User != nil:
		return "", errors.New("summary: URL holds a user name or password: give the key in Key")
	case u.Fragment != "":
		return "", errors.New("summary: URL has a fragment (#…), which is never sent")
	case u.Path == "" || u.Path == "/":
		u.Path = "/v1/chat/completions"
	case strings.HasSuffix(u.Path, "/") || version.MatchString(u.Path):
		u = u.JoinPath("chat/completions")
	}
	return u.String(), nil
}

// withoutRedirects copies a client so that an answer comes from the configured
// address or not at all: a redirect could carry transcripts anywhere.
func withoutRedirects(c *http.Client) *http.Client {
	own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c != nil {
		own.Transport = c.Transport
		return own
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxResponseHeaderBytes = 64 << 10
		own.Transport = t
	}
	return own
}

// Summarize implements [feedback.Summarizer].
func (c *Chat) Summarize(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	if err := ctx.Err(); err != nil {
		return feedback.Summary{}, fmt.Errorf("summarize: %w", err)
	}
	transcripts, shortened, err := c.input(ctx, in.Transcripts)
	if err != nil {
		return feedback.Summary{}, err
	}
	restore := func(s string) (string, bool) { return s, true }
	if !c.sendNames {
		n := newNames(in.Names, transcripts)
		for i, t := range transcripts {
			transcripts[i] = n.hide(t)
		}
		restore = n.restore
	}
	a, err := c.ask(ctx, transcripts)
	if err != nil {
		return feedback.Summary{}, err
	}
	text, known := restore(a.text)
	var warnings []string
	if shortened {
		warnings = append(warnings, "The lessons were too long to be read whole; the text is made from their most telling sentences.")
	}
	if a.cut {
		warnings = append(warnings, "The text may end too early: it reached the endpoint's length limit.")
	}
	if !known {
		warnings = append(warnings, "The text mentions a person whose name could not be put back.")
	}
	return feedback.Summary{Text: text, Source: feedback.SummaryRemote, Warning: strings.Join(warnings, " ")}, nil
}

// input copies the transcripts that hold words, shortened where they are too long.
func (c *Chat) input(ctx context.Context, transcripts []string) (out []string, shortened bool, err error) {
	words := 0
	for _, t := range transcripts {
		if !isNoise(t) {
			words += countWords(t)
			out = append(out, norm.NFC.String(strings.ToValidUTF8(t, ""))) // as the names are
		}
	}
	if words == 0 {
		return nil, false, ErrNoText
	}
	if words <= c.maxInputWords {
		return out, false, nil
	}
	text, _, err := Extractive{MaxWords: c.maxInputWords}.extract(ctx, out)
	return []string{text}, true, err
}

// drain reads a little of what is left, so that the connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	_ = body.Close()
}
