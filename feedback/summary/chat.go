package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/evidence"
	"lessonkit.example/feedback/internal/script"
)

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

	// Prompt replaces the default rules for the model, which say what becomes of dictated notes and
	// what the tokens [NAME_1_1] (the student) and [NAME_2_1] (the guardian) and the elements of a
	// request are. At most [MaxPrompt] bytes. If empty, the default is used.
	Prompt string

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
// waits as long as Retry-After requires, for at most two minutes in all. It sends all lessons or
// records that have words, however long they are.
//
// The names of the student and the guardian are sent as tokens and restored in the answer: whole
// names, their parts, the short forms usual in Chinese, names with a Korean particle or without
// their accents, and what sounds like a name and was probably meant. Not recognised are parts of a
// single letter or character, parts that are also words such as Art or Mum, names that have only
// two letters or are also common words (Bo, Will) in another case than given, names in another
// script than given (Zihan for 梓涵), and names that were misheard in several sounds.
//
// Of the answer, reasoning, the fences, rules and the marks of headings and bold words in Markdown,
// tags in a line of their own, and a first line such as "Here is the feedback:" are left out. An
// answer that the service broke off is asked for again, and one that declines is an error. Its
// numbers, weekdays and months that nobody said are named in a warning, and so are those that it
// lacks, with homework and notices of which it says too little, as far as [Local] finds them in the
// notes.
type Chat struct {
	url       string
	authorize func(*http.Request) // a function, so that printing a Chat does not print the key
	model     string
	prompt    string
	attempts  int
	client    *http.Client
	log       *slog.Logger
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
	if len(cfg.Prompt) > MaxPrompt || !utf8.ValidString(cfg.Prompt) {
		return nil, fmt.Errorf("summary: Prompt is not text of at most %d bytes", MaxPrompt)
	}
	if strings.ContainsFunc(cfg.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("summary: APIKey contains a space, a line break or another invalid character")
	}
	c := &Chat{
		url:       u,
		authorize: func(*http.Request) {},
		model:     cfg.Model,
		prompt:    cmp.Or(strings.TrimSpace(cfg.Prompt), strings.TrimSpace(defaultPrompt)),
		attempts:  4,
		// A redirect could take transcripts anywhere.
		client: &http.Client{CheckRedirect: stayHere},
		log:    cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}
	if key := cfg.APIKey; key != "" {
		c.authorize = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
	}
	if cfg.Client != nil {
		c.client.Transport = cfg.Client.Transport
	}
	return c, nil
}

var listMark = regexp.MustCompile(`(?m)^[ \t]*\d{1,2}(?:[.)] +|[、）] *)`)

// withoutListMarks returns a text without the numbers of lines in a list, such as a teacher may
// wish: if they count from 1, they tell nothing.
func withoutListMarks(text string) string {
	last := 0
	return listMark.ReplaceAllStringFunc(text, func(mark string) string {
		n, _ := strconv.Atoi(strings.Trim(mark, " \t.)、）"))
		if n != 1 && n != last+1 { // "3. November"
			return mark
		}
		last = n
		return ""
	})
}

// declines reports whether the first sentence of a text is a refusal that the lessons do not tell
// of, or that is all of a short text in another script, which cannot be compared.
func declines(text string, in feedback.SummaryInput) bool {
	const short = 200
	start := refusal.FindString(text)
	if start == "" {
		return false
	}
	rest := strings.TrimPrefix(text, start)
	if r, _ := utf8.DecodeRuneInString(rest); rest == "" || script.IsTerminator(r) {
		return true
	}
	said := evidence.Find(rest, textsOf(in.Lessons), in.Student, in.GuardianTitle, "I'm can't cannot help")
	if len(said) == 0 {
		return utf8.RuneCountInString(text) <= short
	}
	return !said[0].Supported
}

func stayHere(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

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
	in = normalized(in)
	var err error
	if in.LastRecord, err = homeworkOf(ctx, in.LastRecord); err != nil {
		return feedback.Summary{}, err
	}
	in.Lessons = slices.DeleteFunc(in.Lessons, func(l feedback.SummaryLesson) bool { return isNoise(l.Text) })
	if len(in.Lessons) == 0 {
		return feedback.Summary{}, errNoWords
	}
	n := newNames([]string{student: in.Student, guardian: in.GuardianTitle}, allTexts(in), in.Words)
	a, err := c.complete(ctx, c.messages(in, n))
	if err != nil {
		return feedback.Summary{}, err
	}
	text, known := n.restore(a.text)
	if declines(text, in) {
		return feedback.Summary{}, errors.New("summarize: the model declined to write about this content")
	}
	out := feedback.Summary{Text: text, Source: feedback.SummaryRemote}
	if a.truncated {
		warn(&out, feedback.WarningIncomplete,
			"The text may be incomplete: it reached the length limit of the summary service.")
	}
	if !known || misspelt.MatchString(text) {
		warn(&out, feedback.WarningUnknownName, "The text mentions a person whose name could not be restored.")
	}
	text = withoutListMarks(text) // in out, they stay
	if bad := lacking(text, valuesIn(sources(in))); len(bad) > 0 {
		var figures []string
		for _, f := range bad {
			figures = append(figures, named(text, f))
		}
		warnNaming(&out, feedback.WarningUnsupported, inLanguage(text, "These numbers or dates were not said, "+
			"please check them:", "这些数字或日期录音里没有提到，请核对："), figures)
	}
	if in.Report {
		return out, nil
	}
	// What cannot be looked at in time has no warning: the answer was paid for.
	if left, err := leftOut(ctx, in, text); err == nil && len(left) > 0 {
		warnNaming(&out, feedback.WarningLeftOut, inLanguage(text,
			"This was said and is not in the text, please check:", "这些内容说过，但文字里没有，请核对："), left)
	}
	return out, nil
}
