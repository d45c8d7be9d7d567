package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
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
	timeout   time.Duration
	transport http.RoundTripper
	slots     chan struct{} // how many recordings are sent at once
	faults    provider.Faults

	mu     sync.Mutex
	status asr.Status
}

func NewRecognizer(url string, timeout time.Duration) *Recognizer {
	return &Recognizer{
		url: url, timeout: timeout, slots: make(chan struct{}, 2),
		transport: provider.NewTransport(http.ProxyFromEnvironment),
		status:    asr.Status{Provider: "plain", Reason: "not used yet"},
	}
}

func (r *Recognizer) Recognize(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
	}
	transcript, err := r.send(ctx, audio)
	if ctx.Err() != nil {
		return asr.Transcript{}, provider.Interrupted(ctx, "plain")
	}
	// Call r.faults.Answered too where a request without a recording, such as one for the health of
	// the server, has been answered.
	err, _ = r.faults.Judge(audio, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = asr.Status{Provider: "plain", Available: err == nil, CheckedAt: time.Now().UTC()}
	if err != nil {
		r.status.Reason = err.Error()
	}
	return transcript, err
}

func (r *Recognizer) send(ctx context.Context, audio asr.Audio) (asr.Transcript, error) {
	source, err := provider.Open("plain", audio)
	if err != nil {
		return asr.Transcript{}, err
	}
	defer source.Close()
	limit := provider.TimeLimit(source.Info.Duration, 10, r.timeout, r.timeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
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
		return asr.Transcript{}, provider.StatusError("plain", resp, provider.Excerpt(string(body)), time.Now())
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

func (r *Recognizer) Status(context.Context) asr.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// A recogniser of one's own, and the test that it does what every recogniser must.
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

// Three recordings that fail are the fault of the recogniser, unless it has answered in between.
func ExampleFaults() {
	var faults provider.Faults
	lost := &asr.Error{Op: "plain", Class: asr.ErrLost}
	for _, name := range []string{"a.wav", "b.wav", "c.wav"} {
		_, failing := faults.Judge(asr.Audio{Name: name, Size: 1}, lost)
		fmt.Println(name, failing)
	}
	faults.Answered() // such as a request for its health
	_, failing := faults.Judge(asr.Audio{Name: "d.wav", Size: 1}, lost)
	fmt.Println("d.wav", failing)
	// Output:
	// a.wav false
	// b.wav false
	// c.wav true
	// d.wav false
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
			e := provider.StatusError("plain", resp, "because", time.Now())
			require.Equal(t, class, e.Class, status)
			require.Equal(t, status, e.Status)
			require.Equal(t, "plain", e.Op)
			require.Equal(t, class == asr.ErrUnavailable, e.After == 7*time.Second, status)
		}
	}
}
