// Package queueui shows a job queue in the browser: the depth and age of every queue, what its
// workers did in the last hour, day and week (jobs ended and failed, waits), jobs by state, one job
// with its arguments, metadata, saved state, errors and timeline, the schedules, buttons to retry
// and to cancel one job or all of a list, to pause queues and schedules and to run a schedule now,
// and a search by the number of a job or any text in its arguments: see [jobqueue.Client.Search].
//
//	http.Handle("/queue/", queueui.New(client, queueui.Config{Prefix: "/queue"}))
//
// [New] returns an http.Handler. The pages are plain HTML without scripts. Put authentication in
// front of it: all who reach it see the arguments of every job and, unless Config.ReadOnly is set,
// may retry and cancel them. Cross-site requests that change something are refused (net/http's
// CrossOriginProtection).
package queueui

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/jobqueue"
)

// Config configures the pages. The zero value serves them at the root of its mux.
type Config struct {
	// Prefix is the path at which the handler is mounted, such as "/admin/jobs", without a trailing
	// slash. Do not use http.StripPrefix in addition. Defaults to the root.
	Prefix string
	// Title is shown on every page. Defaults to "Jobs".
	Title string
	// ReadOnly shows no buttons and refuses to change anything.
	ReadOnly bool
	// Logger receives the errors of the store, which the pages do not show. Defaults to one that
	// discards.
	Logger *slog.Logger
}

//go:embed templates/*.html templates/style.css
var files embed.FS

type ui struct {
	client *jobqueue.Client
	cfg    Config
	pages  map[string]*template.Template
}

// New returns the pages of client's queue.
func New(client *jobqueue.Client, cfg Config) http.Handler {
	cfg.Title = cmp.Or(cfg.Title, "Jobs")
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.Prefix = strings.TrimRight(cfg.Prefix, "/")
	u := &ui{client: client, cfg: cfg, pages: map[string]*template.Template{}}
	for _, name := range []string{"queues", "figures", "jobs", "search", "job", "bulk", "error"} {
		page := template.New("layout.html").Funcs(u.funcs())
		u.pages[name] = template.Must(page.ParseFS(files, "templates/layout.html", "templates/table.html",
			"templates/"+name+".html"))
	}

	mux := http.NewServeMux()
	handle := func(method, path string, h handler) {
		mux.HandleFunc(method+" "+cfg.Prefix+path, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				u.fail(w, r, err)
			}
		})
	}
	change := func(method, path string, h handler) {
		handle(method, path, func(w http.ResponseWriter, r *http.Request) error {
			if cfg.ReadOnly {
				return failure{http.StatusForbidden, "These pages are read-only."}
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if r.ParseForm() != nil {
				return failure{http.StatusBadRequest, "The form cannot be read."}
			}
			return h(w, r)
		})
	}
	handle("GET", "/{$}", u.queues)
	handle("GET", "/figures", u.figures)
	handle("GET", "/jobs", u.jobs)
	handle("GET", "/jobs/{id}", u.job)
	handle("GET", "/search", u.search)
	handle("GET", "/style.css", style)
	handle("GET", "/", func(http.ResponseWriter, *http.Request) error {
		return failure{http.StatusNotFound, "This page does not exist."}
	})
	change("POST", "/jobs/{id}/{action}", u.changeJob)
	change("GET", "/bulk/{action}", u.confirmBulk)
	change("POST", "/bulk/{action}", u.bulk)
	change("POST", "/queues/{action}", u.changeQueue)
	change("POST", "/schedules/{action}", u.changeSchedule)
	protected := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		protected.ServeHTTP(w, r)
	})
}

type page struct {
	Title    string // Config.Title
	Heading  string
	ReadOnly bool
	Now      time.Time
	Refresh  bool
	Search   string // text of the search
	Data     any
}

// render writes a page. The error is always nil.
func (u *ui) render(w http.ResponseWriter, r *http.Request, status int, name, heading string, data any) error {
	p := page{Title: u.cfg.Title, Heading: heading, ReadOnly: u.cfg.ReadOnly, Now: time.Now().UTC(), Data: data}
	if p.Refresh = r.URL.Query().Get("refresh") != ""; p.Refresh {
		w.Header().Set("Refresh", "5")
	}
	if name == "search" {
		p.Search = r.URL.Query().Get("q")
	}
	var body bytes.Buffer
	if err := u.pages[name].Execute(&body, p); err != nil {
		u.cfg.Logger.ErrorContext(r.Context(), "render page", "page", name, "error", err)
		http.Error(w, "The page cannot be rendered.", http.StatusInternalServerError)
		return nil
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
	return nil
}

// handler writes a page, or returns a failure or an error of the client.
type handler func(w http.ResponseWriter, r *http.Request) error

// failure is an error that a page shows.
type failure struct {
	status  int
	message string
}

func (f failure) Error() string { return f.message }

// fail shows why a request failed, and logs what the page does not show.
func (u *ui) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := failure{http.StatusInternalServerError, "This did not work. The log says why."}
	switch {
	case errors.As(err, &f):
	case errors.Is(err, jobqueue.ErrNotFound):
		f = failure{http.StatusNotFound, "This does not exist, or it has been deleted from the history."}
	case errors.Is(err, jobqueue.ErrName):
		f = failure{http.StatusBadRequest, "A name has at most 200 bytes of UTF-8 without NUL."}
	case errors.Is(err, jobqueue.ErrSchema):
		f.message = "The queue's tables are missing or of another version. Run Migrate of its store."
	case errors.Is(err, errSlowSearch):
		f = failure{http.StatusServiceUnavailable, "The search took too long. The database is busy."}
	case errors.Is(err, jobqueue.ErrUnavailable) || r.Context().Err() != nil:
		f = failure{http.StatusServiceUnavailable, "The queue's database is not available. Try again in a moment."}
	}
	if f.status >= http.StatusInternalServerError {
		u.cfg.Logger.ErrorContext(r.Context(), "job page", "path", r.URL.Path, "error", err)
	}
	_ = u.render(w, r, f.status, "error", http.StatusText(f.status), f.message)
}

func (u *ui) queues(w http.ResponseWriter, r *http.Request) error {
	stats, err := u.client.Stats(r.Context())
	if err != nil {
		return err
	}
	schedules, err := u.client.Schedules(r.Context())
	if err != nil {
		return err
	}
	return u.render(w, r, http.StatusOK, "queues", "Queues", queuesData{Stats: stats, Schedules: schedules})
}

// queuesData is the first page.
type queuesData struct {
	jobqueue.Stats
	Schedules []jobqueue.ScheduleInfo
}

const pageSize = 50

// states are the tabs of the list, in the order of a job's life.
var states = []jobqueue.State{
	jobqueue.StateWaiting, jobqueue.StateScheduled, jobqueue.StateHeld, jobqueue.StateRunning,
	jobqueue.StateSucceeded, jobqueue.StateFailed, jobqueue.StateCancelled,
}

type table struct {
	Jobs       []*jobqueue.Job
	AllStates  bool   // the jobs may have different states
	TimeColumn string // heading
	Paged      bool   // not the first page
}

// jobsData is a page of jobs in one state.
type jobsData struct {
	table
	Filter jobqueue.Filter
	States []jobqueue.State
	Window int    // how many jobs a page reads
	Next   string // query of the next page, "" on the last one
	// Retry and Cancel are set if they apply to all jobs of the list.
	Retry, Cancel bool
	Note          string
}

func (u *ui) jobs(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := jobqueue.Filter{State: jobqueue.StateWaiting, Queue: q.Get("queue"), Kind: q.Get("kind"), Limit: pageSize + 1}
	if name := q.Get("state"); name != "" {
		i := slices.IndexFunc(states, func(s jobqueue.State) bool { return s.String() == name })
		if i < 0 {
			return failure{http.StatusBadRequest, "This state does not exist."}
		}
		f.State = states[i]
	}
	var err error
	if f.Before, err = before(r); err != nil {
		return err
	}
	jobs, next, err := u.client.List(r.Context(), f)
	if err != nil {
		return err
	}
	d := jobsData{table: table{Jobs: jobs, Paged: f.Before != 0}, Filter: f, States: states,
		Window: jobqueue.ListWindow}
	if !u.cfg.ReadOnly && len(jobs) > 0 {
		d.Retry = slices.Contains(bulkActions["retry"], f.State)
		d.Cancel = slices.Contains(bulkActions["cancel"], f.State)
	}
	d.Note = bulkNote(q)
	switch {
	case f.State.Finished():
		d.TimeColumn = "Ended"
	case f.State == jobqueue.StateRunning:
		d.TimeColumn = "Started"
	default:
		d.TimeColumn = "May start"
	}
	if len(jobs) > pageSize {
		d.Jobs, next = jobs[:pageSize], jobs[pageSize-1].ID
	}
	if next != 0 {
		d.Next = query(f, "before", strconv.FormatInt(next, 10))
	}
	return u.render(w, r, http.StatusOK, "jobs", "Jobs", d)
}

// before returns the id before which a page begins, 0 for the first page.
func before(r *http.Request) (int64, error) {
	text := r.URL.Query().Get("before")
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0, failure{http.StatusBadRequest, "The page number is not a number."}
	}
	return id, nil
}

// query returns the URL query of f with one value changed.
func query(f jobqueue.Filter, key, value string) string {
	v := url.Values{"state": {f.State.String()}}
	if f.Queue != "" {
		v.Set("queue", f.Queue)
	}
	if f.Kind != "" {
		v.Set("kind", f.Kind)
	}
	v.Set(key, value)
	return "?" + v.Encode()
}

type jobData struct {
	*jobqueue.Job
	Steps             []step
	MayRetry, MayStop bool
	Note              string
}

func (u *ui) job(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	job, err := u.client.Get(r.Context(), id)
	if err != nil {
		return err
	}
	d := jobData{Job: job, Steps: timeline(job), Note: notes[r.URL.Query().Get("note")]}
	if !u.cfg.ReadOnly {
		d.MayRetry = slices.Contains(bulkActions["retry"], job.State)
		d.MayStop = !job.State.Finished() && !(job.Cancelling && job.State == jobqueue.StateRunning)
	}
	return u.render(w, r, http.StatusOK, "job", "Job "+strconv.FormatInt(id, 10), d)
}

func jobID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, failure{http.StatusNotFound, "This is not the number of a job."}
	}
	return id, nil
}

func style(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	http.ServeFileFS(w, r, files, "templates/style.css")
	return nil
}
