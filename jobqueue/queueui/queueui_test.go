package queueui_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/jobtest"
	"lessonkit.example/jobqueue/queueui"
	"lessonkit.example/jobqueue/sqlitequeue"
)

type site struct {
	t       *testing.T
	client  *jobqueue.Client
	store   *sqlitequeue.Store
	handler http.Handler
	ids     map[string]int64
}

// setup returns a site with a job in every state.
func setup(t *testing.T, cfg queueui.Config) *site {
	t.Helper()
	store, err := sqlitequeue.Open(filepath.Join(t.TempDir(), "queue.db"), sqlitequeue.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	require.NoError(t, store.Migrate(t.Context()))
	s := &site{t: t, store: store, client: jobqueue.NewClient(store), ids: map[string]int64{}}
	s.handler = queueui.New(s.client, cfg)

	ctx, cancel := context.WithCancel(t.Context())
	w := jobqueue.NewWorker(store, jobqueue.WorkerConfig{
		ShutdownTimeout: time.Millisecond,
		Queues:          map[string]jobqueue.QueueConfig{"transcribe": {}, "mail": {}},
		Schedules: []jobqueue.Schedule{{
			Name: "sweep <all>", When: jobqueue.Every(100 * 365 * 24 * time.Hour), // in 2069
			Params: jobqueue.Params{Kind: "sweep", Queue: "nightly"},
		}},
		Backoff: func(attempt int) time.Duration { return time.Duration(attempt-1) * time.Hour },
	})
	started := make(chan struct{})
	jobqueue.Handle(w, "transcribe", func(ctx context.Context, job *jobqueue.Job, args map[string]string) error {
		switch args["segment"] {
		case "good":
			return nil
		case "panics":
			panic("index out of range [3] with length 2")
		case "bad":
			return jobqueue.Permanent(errors.New("the audio has no sound: 0 of 48 000 samples above the noise"))
		case "slow":
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}
		return fmt.Errorf("the recogniser answered 503 <script>alert(1)</script>")
	})
	for _, name := range []string{"good", "panics", "bad", "slow", "away"} {
		s.enqueue(name, jobqueue.Params{Kind: "transcribe", Queue: "transcribe",
			Args: map[string]string{"segment": name, "language": "en-GB"}})
	}
	s.enqueue("waiting", jobqueue.Params{Kind: "purge <old>", Queue: "nightly", Args: []int{1, 2},
		UniqueKey: "nightly/2026-11-20", MaxAttempts: jobqueue.Unlimited})
	s.enqueue("later", jobqueue.Params{Kind: "remind", Queue: "mail", RunAt: time.Now().Add(26 * time.Hour),
		Args: "ann@example.org"})
	s.enqueue("cancelled", jobqueue.Params{Kind: "remind", Queue: "mail", RunAt: time.Now().Add(time.Hour)})
	require.NoError(t, s.client.Cancel(t.Context(), s.ids["cancelled"]))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	<-started
	for name, state := range map[string]jobqueue.State{"good": jobqueue.StateSucceeded, "bad": jobqueue.StateFailed,
		"panics": jobqueue.StateScheduled, "away": jobqueue.StateScheduled} {
		require.Eventually(t, func() bool {
			j, err := s.client.Get(t.Context(), s.ids[name])
			return err == nil && j.State == state && (state != jobqueue.StateScheduled || j.Attempt == 2)
		}, time.Minute, 5*time.Millisecond, name)
	}
	return s
}

func (s *site) enqueue(name string, p jobqueue.Params) {
	s.t.Helper()
	r, err := s.client.Enqueue(s.t.Context(), p)
	require.NoError(s.t, err)
	s.ids[name] = r.ID
}

func (s *site) do(method, path string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

var unsafe = regexp.MustCompile(`(?i)<script|\son\w+=|\sstyle=|javascript:|https?://`)

func (s *site) page(path string, contains ...string) string {
	s.t.Helper()
	w := s.do("GET", path)
	require.Equal(s.t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
	body := w.Body.String()
	for _, c := range contains {
		require.Contains(s.t, body, c, path)
	}
	require.Contains(s.t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.NotRegexp(s.t, unsafe, body, "nothing that the policy would block, and no other hosts")
	return body
}

func TestPages(t *testing.T) {
	s := setup(t, queueui.Config{Title: "Lesson jobs", Prefix: "/admin/jobs"})
	s.page("/admin/jobs/", "transcribe", "nightly", fmt.Sprint(os.Getpid()), "Oldest waits")
	for state, names := range map[string][]string{
		"waiting": {"waiting"}, "scheduled": {"later", "panics", "away"}, "running": {"slow"}, "succeeded": {"good"},
		"failed": {"bad"}, "cancelled": {"cancelled"},
	} {
		body := s.page("/admin/jobs/jobs?state=" + state)
		for name, id := range s.ids {
			link := fmt.Sprintf(`href="/admin/jobs/jobs/%d"`, id)
			require.Equal(t, slices.Contains(names, name), strings.Contains(body, link), "%s among the %s", name,
				state)
		}
	}
	s.page("/admin/jobs/jobs?state=scheduled&queue=transcribe", "the recogniser answered 503", "&lt;script&gt;")
	s.page(fmt.Sprintf("/admin/jobs/jobs/%d", s.ids["panics"]), "index out of range [3] with length 2", "Stack",
		"queueui_test.go", "Attempt 1 failed", "Attempt 2 failed", "Run now")
	s.page(fmt.Sprintf("/admin/jobs/jobs/%d", s.ids["waiting"]), "nightly/2026-11-20", "no limit", "purge &lt;old&gt;",
		"Cancel")
	s.page(fmt.Sprintf("/admin/jobs/jobs/%d", s.ids["bad"]), "no sound", "Failed permanently", "Retry")
	s.page("/admin/jobs/?refresh=5", "Stop refreshing")
	require.Equal(t, "5", s.do("GET", "/admin/jobs/?refresh=5").Header().Get("Refresh"))
	require.Empty(t, s.do("GET", "/admin/jobs/").Header().Get("Refresh"))
	require.Contains(t, s.do("GET", "/admin/jobs/style.css").Header().Get("Content-Type"), "text/css")
}

func TestSearch(t *testing.T) {
	s := setup(t, queueui.Config{Prefix: "/q"})
	found := func(query string) (names []string) {
		body := s.page("/q/search?" + query)
		for name, id := range s.ids {
			if strings.Contains(body, fmt.Sprintf(`href="/q/jobs/%d"`, id)) {
				names = append(names, name)
			}
		}
		return names
	}
	require.Equal(t, []string{"bad"}, found("q=bad"), "failed")
	require.Equal(t, []string{"good"}, found("q=+good+"), "succeeded")
	require.Equal(t, []string{"later"}, found("q=ann%40example.org"), "scheduled")
	require.ElementsMatch(t, []string{"good", "panics", "bad", "slow", "away"}, found("q=en-GB"))
	require.Equal(t, []string{"cancelled"}, found(fmt.Sprintf("q=%d", s.ids["cancelled"])), "by its number")
	require.Empty(t, found("q=%22%3Cscript"))
	require.Empty(t, found(fmt.Sprintf("q=en-GB&before=%d", s.ids["good"])))
	s.page("/q/search?q=en-GB", "Search", `value="en-GB"`, "no sound", "100\u202F000 jobs", "succeeded")
	for _, query := range []string{"", "?q=+", "?q=" + strings.Repeat("x", 201), "?q=x&before=x", "?q=x&before=-1"} {
		require.Equal(t, http.StatusBadRequest, s.do("GET", "/q/search"+query).Code, query)
	}
}

func TestUnknownPagesAndParameters(t *testing.T) {
	s := setup(t, queueui.Config{})
	for path, want := range map[string]int{
		"/jobs/999999": 404, "/jobs/x": 404, "/nowhere": 404, "/jobs?state=odd": 400, "/jobs?before=x": 400,
	} {
		require.Equal(t, want, s.do("GET", path).Code, path)
	}
	require.Equal(t, 404, s.do("POST", "/jobs/999999/retry").Code)
	require.Equal(t, 404, s.do("POST", fmt.Sprintf("/jobs/%d/explode", s.ids["bad"])).Code)
	require.Equal(t, 405, s.do("POST", "/jobs").Code)
}

func TestHeldJobsGroupsAndMetadata(t *testing.T) {
	s := setup(t, queueui.Config{Prefix: "/q"})
	s.enqueue("page", jobqueue.Params{Kind: "convert", Queue: "books", Group: "book <7>",
		Meta: map[string]string{"<who>": "Ann & Bob"}})
	s.enqueue("other page", jobqueue.Params{Kind: "convert", Queue: "books", Group: "book <7>"})
	s.enqueue("book", jobqueue.Params{Kind: "bind", Queue: "books", AfterGroup: "book <7>"})
	s.enqueue("first", jobqueue.Params{Kind: "move", Queue: "books", LimitKey: "shelf 3"})
	s.enqueue("second", jobqueue.Params{Kind: "move", Queue: "books", LimitKey: "shelf 3"})
	require.NoError(t, s.client.Cancel(t.Context(), s.ids["page"]))
	s.page("/q/", `href="/q/jobs?state=held&amp;queue=books">2<`)
	s.page("/q/jobs?state=held&queue=books", "bind", "move", "Cancel all…")
	s.page(fmt.Sprintf("/q/jobs/%d", s.ids["page"]), "<dt>Group</dt><dd><code>book &lt;7&gt;</code></dd>",
		"<dt>&lt;who&gt;</dt><dd><code>Ann &amp; Bob</code></dd>")
	s.page(fmt.Sprintf("/q/jobs/%d", s.ids["book"]),
		"<dt>After group</dt><dd><code>book &lt;7&gt;</code></dd>", "held")
	s.page(fmt.Sprintf("/q/jobs/%d", s.ids["second"]), "<dt>Limit key</dt><dd><code>shelf 3</code>")
}

func TestSavedState(t *testing.T) {
	s := setup(t, queueui.Config{})
	save := func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "bind",
			func(_ context.Context, job *jobqueue.Job, state any) error { return job.Save(state) })
	}
	for name, state := range map[string]any{
		"half": map[string]any{"progress": 0.505, "page": "<12>"}, "over": map[string]any{"progress": 7},
		"text": "progress", "odd": map[string]any{"progress": "half"},
	} {
		p := jobqueue.Params{Kind: "bind", Queue: "books", Args: state}
		s.ids[name] = jobtest.Run(t, s.store, p, jobqueue.WorkerConfig{}, save).ID
	}
	bar := `<progress aria-label="Progress" max="100" value="50">50 %</progress>`
	s.page(fmt.Sprintf("/jobs/%d", s.ids["half"]), "Saved state", bar, "&#34;page&#34;: &#34;\\u003c12\\u003e&#34;")
	s.page("/jobs?state=succeeded&queue=books", bar, `value="100"`)
	for _, name := range []string{"text", "odd"} {
		require.NotContains(t, s.page(fmt.Sprintf("/jobs/%d", s.ids[name]), "Saved state"), "<progress")
	}
	require.NotContains(t, s.page(fmt.Sprintf("/jobs/%d", s.ids["good"])), "Saved state")
}

func TestCrossSitePostsAreRefused(t *testing.T) {
	s := setup(t, queueui.Config{})
	path := fmt.Sprintf("/jobs/%d/cancel", s.ids["waiting"])
	require.Equal(t, http.StatusForbidden, s.do("POST", path, "Sec-Fetch-Site", "cross-site").Code)
	require.Equal(t, http.StatusForbidden, s.do("POST", path, "Origin", "https://elsewhere.example").Code)
	j, err := s.client.Get(t.Context(), s.ids["waiting"])
	require.NoError(t, err)
	require.Equal(t, jobqueue.StateWaiting, j.State)
	require.Equal(t, http.StatusSeeOther, s.do("POST", path, "Sec-Fetch-Site", "same-origin").Code)
}

func TestReadOnly(t *testing.T) {
	s := setup(t, queueui.Config{ReadOnly: true})
	body := s.page(fmt.Sprintf("/jobs/%d", s.ids["bad"]), "read only")
	require.NotContains(t, body, `method="post"`)
	for _, path := range []string{
		fmt.Sprintf("/jobs/%d/retry", s.ids["bad"]), "/queues/pause", "/schedules/pause", "/bulk/retry",
	} {
		require.Equal(t, http.StatusForbidden, s.do("POST", path).Code, path)
	}
	require.NotContains(t, s.page("/"), `method="post"`)
	require.NotContains(t, s.page("/jobs?state=failed"), "Retry all")
	require.Equal(t, http.StatusForbidden, s.do("GET", "/bulk/retry?state=failed").Code, "its page has a button")
}

func TestPaging(t *testing.T) {
	s := setup(t, queueui.Config{})
	ps := make([]jobqueue.Params, 120)
	for i := range ps {
		ps[i] = jobqueue.Params{Kind: "many & more", Queue: "bulk/1"}
	}
	_, err := s.client.EnqueueMany(t.Context(), ps)
	require.NoError(t, err)
	row := regexp.MustCompile(`<th scope="row" class="n"><a href="/jobs/\d+">`)
	next := regexp.MustCompile(`href="([^"]*before=[^"]*)"`)
	path, total := "/jobs?state=waiting&queue=bulk%2F1&kind=many+%26+more", 0
	for range 3 {
		body := s.page(path)
		total += len(row.FindAllString(body, -1))
		m := next.FindStringSubmatch(body)
		if m == nil {
			break
		}
		path = "/jobs" + html.UnescapeString(m[1])
	}
	require.Equal(t, 120, total)
	s.page("/", "120")
}

// failing is a store whose Stats return an error.
type failing struct {
	jobqueue.Store // nil: nothing else is called
	err            error
}

func (f failing) Stats(context.Context) (driver.Stats, error) { return driver.Stats{}, f.err }

func TestStoreErrorsAreExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{fmt.Errorf("stats: %w", jobqueue.ErrUnavailable), http.StatusServiceUnavailable, "not available"},
		{fmt.Errorf("stats: %w", jobqueue.ErrSchema), http.StatusInternalServerError, "Run Migrate"},
		{fmt.Errorf("stats: %w", jobqueue.ErrName), http.StatusBadRequest, "at most 200 bytes of UTF-8 without NUL"},
		{errors.New("stats: secret"), http.StatusInternalServerError, "The log says why"},
	} {
		w := httptest.NewRecorder()
		h := queueui.New(jobqueue.NewClient(failing{err: c.err}), queueui.Config{})
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		require.Equal(t, c.code, w.Code, c.err)
		require.Contains(t, w.Body.String(), c.text)
		require.NotContains(t, w.Body.String(), "stats:")
	}
}
