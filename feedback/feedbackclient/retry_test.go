package feedbackclient_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// transport answers requests without a network, so that the clock of a test can be a fake one.
type transport func(r *http.Request) (status int, header http.Header, body string)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	status, header, body := f(r)
	if header == nil {
		header = http.Header{}
	}
	if r.Body != nil {
		r.Body.Close()
	}
	answer := io.NopCloser(strings.NewReader(body))
	return &http.Response{StatusCode: status, Header: header, Body: answer, Request: r}, nil
}

const busy = `{"code":"x","retry_after_seconds":7}`

func TestRetries(t *testing.T) {
	t.Parallel()
	broken := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	type refusal struct {
		err    error // of the connection, or nil
		status int
		body   string
		header http.Header
	}
	unavailable, tooMany := refusal{status: 503, body: busy}, refusal{status: 429, body: busy}
	lost, late := refusal{err: broken}, `{"retry_after_seconds":61}`
	cutOff := refusal{status: 200, body: `{"profile_id":"1`}
	for name, c := range map[string]struct {
		call     func(t *testing.T, c feedbackclient.Client) error
		refusal  refusal
		retries  int
		requests int // of which all but the third are refused
		waited   time.Duration
	}{
		"a read that is refused twice": {readProfile, unavailable, 3, 3, 14 * time.Second},
		"the header of a proxy": {readProfile, refusal{status: 429, body: `<html>`,
			header: http.Header{"Retry-After": {"2"}}}, 3, 3, 4 * time.Second},
		"as often as is allowed":       {readProfile, unavailable, 1, 2, 7 * time.Second},
		"none by default":              {readProfile, unavailable, 0, 1, 0},
		"not without Retry-After":      {readProfile, refusal{status: 503, body: `{}`}, 3, 1, 0},
		"not for longer than a minute": {readProfile, refusal{status: 503, body: late}, 3, 1, 0},
		"not after other refusals":     {readProfile, refusal{status: 507, body: busy}, 3, 1, 0},
		"a POST that may have created": {startLesson, unavailable, 3, 1, 0},
		"a POST that was not started":  {startLesson, tooMany, 3, 3, 14 * time.Second},
		"a record has a key":           {createRecord, unavailable, 3, 3, 14 * time.Second},
		"a login code is spent once":   {login, tooMany, 3, 1, 0},
		"a file is sent again":         {uploadFile, unavailable, 3, 3, 14 * time.Second},
		"a stream is read once":        {uploadStream, tooMany, 3, 1, 0},

		"lost: a read":                         {readProfile, lost, 3, 3, 3 * time.Second},
		"lost: closed without an answer":       {readProfile, refusal{err: io.EOF}, 3, 3, 3 * time.Second},
		"lost: in the middle of the answer":    {readProfile, cutOff, 3, 3, 3 * time.Second},
		"lost: a POST that may have created":   {startLesson, lost, 3, 1, 0},
		"lost: a record has a key":             {createRecord, lost, 3, 3, 3 * time.Second},
		"lost: a student has a key":            {createProfile, lost, 3, 3, 3 * time.Second},
		"lost: a file is sent again":           {uploadFile, lost, 3, 3, 3 * time.Second},
		"not after an empty answer":            {readProfile, refusal{status: 200}, 3, 1, 0},
		"lost: what is wrong with the request": {readProfile, refusal{err: errors.New("malformed")}, 3, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				requests, bodies, keys := 0, map[string]bool{}, map[string]bool{}
				answers := transport(func(*http.Request) (int, http.Header, string) {
					if requests == 3 {
						return 200, nil, `{}`
					}
					return c.refusal.status, c.refusal.header, c.refusal.body
				})
				client := feedbackclient.Client{Base: "http://test", MaxRetries: c.retries, HTTP: &http.Client{
					Transport: lossy{answers, func(r *http.Request) error {
						requests++
						body, err := io.ReadAll(r.Body)
						require.NoError(t, err)
						bodies[string(body)] = true
						keys[r.Header.Get("Idempotency-Key")] = true
						if requests == 3 {
							return nil
						}
						return c.refusal.err
					}},
				}}
				began := time.Now()
				err := c.call(t, client)
				require.Equal(t, c.requests, requests)
				require.Equal(t, c.waited, time.Since(began))
				require.Len(t, bodies, 1, "each request has the same body")
				require.Len(t, keys, 1)
				if c.requests == 3 {
					require.NoError(t, err)
					return
				}
				if c.refusal.err != nil {
					require.ErrorIs(t, err, c.refusal.err)
					return
				}
				if c.refusal.status == 200 {
					require.ErrorContains(t, err, "decode the answer: it is empty")
					return
				}
				var p *feedbackclient.Problem
				require.ErrorAs(t, err, &p)
				require.Equal(t, c.refusal.status, p.Status)
			})
		})
	}
}

// A program that gives up itself learns that, and what it was waiting for.
func TestAWaitThatIsCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := transport(func(*http.Request) (int, http.Header, string) { return 503, nil, busy })
		c := feedbackclient.Client{Base: "http://test", MaxRetries: 3, HTTP: &http.Client{Transport: answers}}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := c.EnsureProfile(ctx, "Ming")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, "context deadline exceeded while waiting to try again after: "+
			"GET /api/v1/profiles: 503 x: ", "without the student's name")
		require.ErrorAs(t, err, new(*feedbackclient.Problem))
	})
}

// What ends during a request has not waited.
func TestARequestThatIsCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := feedbackclient.Client{Base: "http://test", MaxRetries: 3, HTTP: &http.Client{
		Transport: lossy{nil, func(*http.Request) error {
			cancel()
			return &net.OpError{Op: "read", Net: "tcp", Err: ctx.Err()}
		}},
	}}
	_, err := c.EnsureProfile(ctx, "Ming")
	require.EqualError(t, err, `Get "http://test/api/v1/profiles": read tcp: context canceled`)
}

func TestRefusalsOfOthersAreTold(t *testing.T) {
	t.Parallel()
	for body, detail := range map[string]string{
		`{"title":"Gateway","detail":"The school's line is down."}`: "The school's line is down.",
		`{"error":"x"}`: "the answer is not a problem document",
		`<html>`:        "the answer is not a problem document",
	} {
		answers := transport(func(*http.Request) (int, http.Header, string) { return 502, nil, body })
		err := readProfile(t, feedbackclient.Client{Base: "http://test", HTTP: &http.Client{Transport: answers}})
		var p *feedbackclient.Problem
		require.ErrorAs(t, err, &p)
		require.Equal(t, detail, p.Detail)
	}
}

// lossy is a transport that fails where its function does.
type lossy struct {
	http.RoundTripper
	fails func(r *http.Request) error
}

func (l lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := l.fails(r); err != nil {
		return nil, err
	}
	return l.RoundTripper.RoundTrip(r)
}

// empty answers {}.
var empty = transport(func(*http.Request) (int, http.Header, string) { return 200, nil, `{}` })

// A transport may go on reading for an attempt that has failed.
func TestAnUploadThatIsRepeatedIsReadFromItsStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var left []io.Reader
		client := feedbackclient.Client{Base: "http://test", MaxRetries: 1, HTTP: &http.Client{
			Transport: lossy{empty, func(r *http.Request) error {
				if left = append(left, r.Body); len(left) == 1 {
					return io.EOF
				}
				_, err := io.ReadAll(left[0])
				require.NoError(t, err)
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				require.Contains(t, string(body), "the whole recording")
				return nil
			}},
		}}
		recording := feedbackclient.Recording{Audio: strings.NewReader("the whole recording")}
		_, err := client.UploadRecording(t.Context(), "id", recording)
		require.NoError(t, err)
	})
}

func TestBaseURLsThatCannotWorkAreExplained(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "127.0.0.1:8080", "localhost:8080", "school.example", "ftp://school.example"} {
		_, err := feedbackclient.New(base, "token").Profile(t.Context(), "id")
		require.ErrorContains(t, err, "must begin with http:// or https://", base)
		synctest.Test(t, func(t *testing.T) { // Follow waits before it connects again
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			var errs []error
			for _, err := range feedbackclient.New(base, "token").Follow(ctx, "id", "") {
				errs = append(errs, err)
			}
			require.Len(t, errs, 1, base)
			require.ErrorContains(t, errs[0], "must begin with http:// or https://", base)
		})
	}
}

// http.Client follows most redirects of a POST with a GET, whose answer is a list of what was to be
// created.
func TestARedirectIsNoSuccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		call   func(t *testing.T, c feedbackclient.Client) error
		fails  bool
	}{
		"a record is not created by a GET":                 {http.StatusMovedPermanently, createRecord, true},
		"nor is a GET refused in its place":                {http.StatusFound, startLesson, true},
		"a file is not sent to another address":            {http.StatusTemporaryRedirect, uploadFile, true},
		"a student is created at the other address":        {http.StatusPermanentRedirect, createProfile, false},
		"a read is answered from the other address":        {http.StatusMovedPermanently, readProfile, false},
		"a base URL that ends with a slash is no redirect": {0, uploadFile, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := transport(func(r *http.Request) (int, http.Header, string) {
				switch {
				case strings.HasPrefix(r.URL.Path, "//"), c.status != 0 && r.URL.Host == "old":
					return cmp.Or(c.status, 307), http.Header{"Location": {"https://new" + r.URL.Path}}, ""
				case strings.HasSuffix(r.URL.Path, "/lessons") && r.Method == http.MethodGet:
					return 405, nil, `{"code":"method_not_allowed"}`
				}
				return 200, nil, `{"items":[]}`
			})
			err := c.call(t, feedbackclient.Client{Base: "http://old/", HTTP: &http.Client{Transport: answers}})
			if !c.fails {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "the server redirects")
		})
	}
}

func readProfile(t *testing.T, c feedbackclient.Client) error {
	_, err := c.Profile(t.Context(), "id")
	return err
}

func startLesson(t *testing.T, c feedbackclient.Client) error {
	_, err := c.StartLesson(t.Context(), "s")
	return err
}

func createProfile(t *testing.T, c feedbackclient.Client) error {
	_, err := c.CreateProfile(t.Context(), feedbackclient.ProfileInput{Name: "Ming"})
	return err
}

func createRecord(t *testing.T, c feedbackclient.Client) error {
	_, err := c.SaveRecord(t.Context(), "p", "s", "2026-05-31", "x")
	return err
}

func login(t *testing.T, c feedbackclient.Client) error {
	_, err := c.Login(t.Context(), "code")
	return err
}

func uploadFile(t *testing.T, c feedbackclient.Client) error {
	f, err := os.Open("../audiotype/testdata/tone.mp3")
	require.NoError(t, err)
	defer f.Close()
	_, err = c.UploadRecording(t.Context(), "id", feedbackclient.Recording{Audio: f})
	return err
}

func uploadStream(t *testing.T, c feedbackclient.Client) error {
	audio, w, err := os.Pipe() // a file that can be read once only
	require.NoError(t, err)
	defer audio.Close()
	_, err = io.WriteString(w, "x")
	require.NoError(t, errors.Join(err, w.Close()))
	_, err = c.UploadRecording(t.Context(), "id", feedbackclient.Recording{Audio: audio})
	return err
}

// A proxy that compresses answers makes their tags weak, and If-Match matches strong ones only.
func TestTheTagOfASessionIsStrong(t *testing.T) {
	t.Parallel()
	var sent []string
	client := feedbackclient.Client{Base: "http://test", HTTP: &http.Client{Transport: transport(
		func(r *http.Request) (int, http.Header, string) {
			sent = append(sent, r.Header.Get("If-Match"))
			return 200, http.Header{"Etag": {`W/"3"`}}, `{}`
		})}}
	session, err := client.Session(t.Context(), "id")
	require.NoError(t, err)
	_, err = client.SaveSession(t.Context(), "id", feedbackclient.SessionEdit{IfMatch: session.ETag})
	require.NoError(t, err)
	require.Equal(t, []string{"", `"3"`}, sent)
}

// TestUploadIsStreamed: the server receives the first bytes of a recording before the last exist.
func TestUploadIsStreamed(t *testing.T) {
	t.Parallel()
	received := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form, err := r.MultipartReader()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		part, err := form.NextPart()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		first := make([]byte, 5)
		io.ReadFull(part, first)
		received <- string(first)
		rest, _ := io.ReadAll(part)
		fmt.Fprintf(w, `{"size_bytes":%d}`, len(first)+len(rest))
	}))
	defer server.Close()
	audio, microphone := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		io.WriteString(microphone, "first")
		if <-received == "first" {
			io.WriteString(microphone, " and last")
		}
		microphone.Close()
	})
	s, err := feedbackclient.New(server.URL, "token").UploadRecording(t.Context(), "id",
		feedbackclient.Recording{Audio: audio})
	require.NoError(t, err)
	wg.Wait()
	require.EqualValues(t, len("first and last"), s.SizeBytes)
}

// What other tests fake: pages, texts of the service, and a recording that is heard again.
func TestAgainstTheService(t *testing.T) {
	t.Parallel()
	server, err := newServer(t.TempDir())
	require.NoError(t, err)
	defer server.Close()
	ctx, c := t.Context(), feedbackclient.Development(server.URL, "lin")

	for i := range 203 { // more than a page
		_, err := c.CreateProfile(ctx, feedbackclient.ProfileInput{Name: fmt.Sprintf("Student %03d", i)})
		require.NoError(t, err)
	}
	var names []string
	for p, err := range c.Profiles(ctx, feedbackclient.ProfileFilter{Query: "student"}) {
		require.NoError(t, err)
		names = append(names, p.Name)
	}
	require.Len(t, names, 203)
	require.Equal(t, "Student 202", names[202])

	_, err = c.SaveDefaults(ctx, feedbackclient.Defaults{Subject: "Music", LessonDurationMinutes: 45, Language: "en",
		MessageTemplate: "{name}, {date}: {text}"})
	require.NoError(t, err)
	saved, err := c.SaveWords(ctx, []string{"Siobhan", "小明"})
	require.NoError(t, err)
	require.Equal(t, []string{"Siobhan", "小明"}, saved)
	expected, err := c.Words(ctx)
	require.NoError(t, err)
	require.Equal(t, saved, expected)
	profile, err := c.EnsureProfile(ctx, "Ming")
	require.NoError(t, err)
	require.Equal(t, "Music", profile.Subject)
	same, err := c.EnsureProfile(ctx, " ming\n")
	require.NoError(t, err)
	require.Equal(t, profile.ID, same.ID)
	accented, err := c.EnsureProfile(ctx, "Zoë")
	require.NoError(t, err)
	same, err = c.EnsureProfile(ctx, "Zoe\u0308")
	require.NoError(t, err)
	require.Equal(t, accented.ID, same.ID)

	today := time.Now().Format(time.DateOnly)
	session, err := c.OpenSession(ctx, profile.ID)
	require.NoError(t, err)
	require.Contains(t, []string{today, time.Now().Format(time.DateOnly)}, session.FeedbackDate)
	words := "Ming mixed greens."
	_, err = c.SaveSession(ctx, session.ID, feedbackclient.SessionEdit{FeedbackText: &words, IfMatch: session.ETag})
	require.NoError(t, err)
	day, err := time.Parse(time.DateOnly, session.FeedbackDate)
	require.NoError(t, err)
	written, err := c.SessionMessage(ctx, session.ID)
	require.NoError(t, err)
	require.Equal(t, "Ming, "+day.Format("2 January 2006")+": Ming mixed greens.", written)
	record, err := c.SaveRecord(ctx, profile.ID, session.ID, "2026-05-31", words)
	require.NoError(t, err)
	written, err = c.RecordMessage(ctx, record.ID)
	require.NoError(t, err)
	require.Equal(t, "Ming, 31 May 2026: Ming mixed greens.", written)

	session, err = c.OpenSession(ctx, profile.ID)
	require.NoError(t, err)
	lesson, err := c.StartLesson(ctx, session.ID)
	require.NoError(t, err)
	_, err = c.StartLesson(ctx, session.ID)
	var p *feedbackclient.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, lesson.ID, p.LessonID)
	require.True(t, p.Permanent())
	segment, err := c.UploadRecording(ctx, lesson.ID, feedbackclient.Recording{Audio: strings.NewReader("#!AMR\n…"),
		Duration: 3 * time.Second})
	require.NoError(t, err)
	audio, err := c.Audio(ctx, segment.ID)
	require.NoError(t, err)
	heard, err := io.ReadAll(audio)
	require.NoError(t, err)
	require.NoError(t, audio.Close())
	require.Equal(t, "#!AMR\n…", string(heard))
}
