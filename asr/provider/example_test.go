package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/provider"
)

// Recognizer is a client of a server that takes the recording as the body of a POST and answers
// with {"text": "…"}.
type Recognizer struct {
	url       string
	base      *provider.Base
	transport http.RoundTripper
}

func NewRecognizer(url string, timeout time.Duration) *Recognizer {
	return &Recognizer{
		url:       url,
		base:      provider.NewBase(provider.BaseConfig{Op: "plain", Concurrency: 2, Timeout: timeout}),
		transport: provider.NewTransport(http.ProxyFromEnvironment),
	}
}

func (r *Recognizer) Recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	return r.base.Recognize(ctx, audio, func(ctx context.Context) (asr.Transcript, error) {
		return r.send(ctx, audio)
	})
}

func (r *Recognizer) Status(ctx context.Context) asr.Status { return r.base.Status(ctx) }

func (r *Recognizer) send(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	source, err := provider.Open("plain", audio)
	if err != nil {
		return asr.Transcript{}, err
	}
	defer source.Close()
	ctx, cancel := context.WithTimeout(ctx, r.base.TimeLimit(source.Info.Duration))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, source)
	if err != nil {
		return asr.Transcript{}, &asr.Error{Op: "plain", Class: asr.ErrMisconfigured, Err: err}
	}
	req.ContentLength = source.Size
	resp, err := provider.Do("plain", r.transport, req)
	if err != nil {
		return asr.Transcript{}, err
	}
	defer resp.Body.Close()
	body, err := provider.ReadBody(resp.Body, 1<<20)
	if resp.StatusCode != http.StatusOK {
		return asr.Transcript{}, provider.StatusError("plain", resp, provider.Excerpt(string(body), audio))
	}
	var answer struct{ Text *string }
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil || answer.Text == nil {
		return asr.Transcript{}, &asr.Error{Op: "plain", Status: resp.StatusCode, Message: "not an answer", Err: err}
	}
	return asr.Transcript{Text: *answer.Text, Duration: source.Info.Duration}, nil
}

// A recogniser of another kind.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, `{"text": "%d bytes"}`, n)
	}))
	defer server.Close()
	var recognizer asr.Recognizer = NewRecognizer(server.URL, time.Minute)
	transcript, err := recognizer.Recognize(context.Background(), asr.FromBytes("a.wav", asrtest.WAV(time.Second)))
	fmt.Println(transcript.Text, transcript.Duration, err)
	// Output: 32044 bytes 1s <nil>
}

// listen is the server of a Recognizer.
func listen(s *asrtest.Server, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		panic(http.ErrAbortHandler)
	case s.ServeFault(w, r):
	case s.Fault() == asrtest.Failure:
		http.Error(w, "out of memory", http.StatusInternalServerError)
	case s.Fault() == asrtest.NoText, s.Fault() == asrtest.ErrorIn200:
		_, _ = io.WriteString(w, `{"error": "no model"}`)
	case string(body) == string(asrtest.Damaged()):
		http.Error(w, "cannot be decoded", http.StatusUnprocessableEntity)
	default:
		_ = json.NewEncoder(w).Encode(map[string]string{"text": asrtest.Heard(body)})
	}
}

// What this package exports is enough for a recogniser that passes the suites.
func TestARecogniserOfOnesOwnPassesTheSuites(t *testing.T) {
	t.Parallel()
	server := asrtest.NewCustomServer(t, listen)
	audio := asrtest.WAV(2 * time.Second)
	asrtest.Run(t, asrtest.Target{
		New:   func(testing.TB) asr.Recognizer { return NewRecognizer(server.URL, time.Minute) },
		Audio: audio, Text: asrtest.Heard(audio), TextOf: asrtest.Heard,
	})
	start := func(t testing.TB) *asrtest.Server { return asrtest.NewCustomServer(t, listen) }
	asrtest.RunFaults(t, start, asrtest.Outcomes(""),
		func(t testing.TB, url string, timeout time.Duration) asr.Recognizer {
			return NewRecognizer(url, timeout)
		})
}

func TestRedirectNamesTheAddressWithoutSecrets(t *testing.T) {
	t.Parallel()
	resp := &http.Response{StatusCode: 308, Header: http.Header{"Location": {"https://me:key@gpu/v1?token=1"}}}
	text := provider.StatusError("plain", resp, "").Error()
	require.Contains(t, text, "configure the address it redirects to, https://gpu/v1 (HTTP 308)")
}

func TestStatusTellsTheClass(t *testing.T) {
	t.Parallel()
	for class, statuses := range map[error][]int{
		asr.ErrUnavailable:   {408, 425, 429, 499, 503},
		asr.ErrLost:          {502, 504},
		asr.ErrUnusableAudio: {400, 413, 415, 422},
		asr.ErrRefused:       {402},
		asr.ErrMisconfigured: {301, 302, 401, 403, 404, 405, 407, 410, 501},
		nil:                  {500, 507, 520},
	} {
		for _, status := range statuses {
			resp := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"7"}}}
			e := provider.StatusError("plain", resp, "because")
			require.Equal(t, class, e.Class, status)
			require.Equal(t, status, e.Status)
			require.Equal(t, "plain", e.Op)
			require.Equal(t, class == asr.ErrUnavailable, e.After == 7*time.Second, status)
		}
	}
}
