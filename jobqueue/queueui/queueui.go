// Package queueui shows a job queue in the browser: the depth and age of every queue, jobs by
// state, one job with its arguments, metadata, saved state, errors and timeline, the schedules,
// buttons to retry and to cancel one job or all of a list, to pause queues and schedules and to run
// a schedule now, and a search by the number of a job or any text in its arguments: see
// [jobqueue.Client.Search].
//
// [New] returns an http.Handler. The pages are plain HTML without scripts. Put authentication in
// front of it: whoever reaches it sees the arguments of every job and, unless Config.ReadOnly is
// set, may retry and cancel them. Cross-site requests that change something are refused (net/http's
// CrossOriginProtection).
package queueui

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
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
	if cfg.Title == "" {
		cfg.Title = "Jobs"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Prefix = strings.TrimRight(cfg.Prefix, "/")
	u := &ui{client: client, cfg: cfg, pages: map[string]*template.Template{}}
	for _, name := range []string{"queues", "jobs", "search", "job", "bulk", "error"} {
		page := template.New("layout.html").Funcs(u.funcs())
		u.pages[name] = template.Must(page.ParseFS(files, "templates/layout.html", "templates/table.html",
			"templates/"+name+".html"))
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET "+cfg.Prefix+"/{$}", u.queues)
	mux.HandleFunc("GET "+cfg.Prefix+"/jobs", u.jobs)
	mux.HandleFunc("GET "+cfg.Prefix+"/jobs/{id}", u.job)
	mux.HandleFunc("GET "+cfg.Prefix+"/search", u.search)
	mux.HandleFunc("GET "+cfg.Prefix+"/style.css", u.style)
	mux.HandleFunc("POST "+cfg.Prefix+"/jobs/{id}/{action}", u.change)
	mux.HandleFunc("GET "+cfg.Prefix+"/bulk/{action}", u.confirmBulk)
	mux.HandleFunc("POST "+cfg.Prefix+"/bulk/{action}", u.bulk)
	mux.HandleFunc("POST "+cfg.Prefix+"/queues/{action}", u.changeQueue)
	mux.HandleFunc("POST "+cfg.Prefix+"/schedules/{action}", u.changeSchedule)
	mux.HandleFunc("GET "+cfg.Prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		u.fail(w, r, http.StatusNotFound, "This page does not exist.", nil)
	})
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

// page is the data of every template.
type page struct {
	Title    string // Config.Title
	Heading  string
	ReadOnly bool
	Now      time.Time
	Refresh  bool
	Search   string // text of the search
	Data     any
}

func (u *ui) render(w http.ResponseWriter, r *http.Request, status int, name, heading string, data any) {
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
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// fail shows message and logs err.
func (u *ui) fail(w http.ResponseWriter, r *http.Request, status int, message string, err error) {
	if err != nil {
		u.cfg.Logger.ErrorContext(r.Context(), "job page", "path", r.URL.Path, "error", err)
	}
	u.render(w, r, status, "error", http.StatusText(status), message)
}

// storeFailed answers a request whose call of the client has returned err.
func (u *ui) storeFailed(w http.ResponseWriter, r *http.Request, err error) {
	status, message := http.StatusInternalServerError, "This did not work. The log says why."
	switch {
	case errors.Is(err, jobqueue.ErrName):
		status, message, err = http.StatusBadRequest, "A name has at most 200 bytes of UTF-8 without NUL.", nil
	case errors.Is(err, jobqueue.ErrSchema):
		message = "The queue's tables are missing or of another version. Run Migrate of its store."
	case errors.Is(err, jobqueue.ErrUnavailable) || r.Context().Err() != nil:
		status, message = http.StatusServiceUnavailable,
			"The queue's database is not available. Try again in a moment."
	}
	u.fail(w, r, status, message, err)
}

func (u *ui) queues(w http.ResponseWriter, r *http.Request) {
	stats, err := u.client.Stats(r.Context())
	if err != nil {
		u.storeFailed(w, r, err)
		return
	}
	schedules, err := u.client.Schedules(r.Context())
	if err != nil {
		u.storeFailed(w, r, err)
		return
	}
	d := queuesData{Stats: stats, Schedules: schedules, MayChange: !u.cfg.ReadOnly}
	u.render(w, r, http.StatusOK, "queues", "Queues", d)
}

// queuesData is the first page.
type queuesData struct {
	jobqueue.Stats
	Schedules []jobqueue.ScheduleInfo
	MayChange bool
}

const pageSize = 50

// states are the tabs of the list, in the order of a job's life.
var states = []jobqueue.State{
	jobqueue.StateWaiting, jobqueue.StateScheduled, jobqueue.StateHeld, jobqueue.StateRunning,
	jobqueue.StateSucceeded, jobqueue.StateFailed, jobqueue.StateCancelled,
}

// table is a table of jobs.
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
	Next   string // query of the next page, "" on the last one
	// Retry and Cancel are set if they apply to all jobs of the list.
	Retry, Cancel bool
	Note          string
}

func (u *ui) jobs(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f := jobqueue.Filter{State: jobqueue.StateWaiting, Queue: q.Get("queue"), Kind: q.Get("kind"), Limit: pageSize + 1}
	if name := q.Get("state"); name != "" {
		i := slices.IndexFunc(states, func(s jobqueue.State) bool { return s.String() == name })
		if i < 0 {
			u.fail(w, r, http.StatusBadRequest, "This state does not exist.", nil)
			return
		}
		f.State = states[i]
	}
	var ok bool
	if f.Before, ok = u.before(w, r); !ok {
		return
	}
	jobs, err := u.client.List(r.Context(), f)
	if err != nil {
		u.storeFailed(w, r, err)
		return
	}
	d := jobsData{table: table{Jobs: jobs, Paged: f.Before != 0}, Filter: f, States: states}
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
		d.Jobs = jobs[:pageSize]
		d.Next = query(f, "before", strconv.FormatInt(jobs[pageSize-1].ID, 10))
	}
	u.render(w, r, http.StatusOK, "jobs", "Jobs", d)
}

// before returns the id before which a page begins, 0 for the first page. If it is not a number, it
// answers the request.
func (u *ui) before(w http.ResponseWriter, r *http.Request) (id int64, ok bool) {
	text := r.URL.Query().Get("before")
	if text == "" {
		return 0, true
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		u.fail(w, r, http.StatusBadRequest, "The page number is not a number.", nil)
		return 0, false
	}
	return id, true
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

// jobData is one job.
type jobData struct {
	*jobqueue.Job
	Steps             []step
	MayRetry, MayStop bool
	Note              string
	Groups            []groupData
}

// groupData is a group of a job.
type groupData struct{ Heading, Name, Counts string }

// groups returns the group of a job and the one that it waits for, if any.
func (u *ui) groups(ctx context.Context, job *jobqueue.Job) (groups []groupData, err error) {
	for _, g := range []groupData{
		{Heading: "Group", Name: job.Group}, {Heading: "After group", Name: job.AfterGroup},
	} {
		if g.Name == "" {
			continue
		}
		n, err := u.client.GroupStats(ctx, g.Name)
		if err != nil {
			return nil, err
		}
		g.Counts = fmt.Sprintf("%s unfinished, %s succeeded, %s failed, %s cancelled",
			count(n.Unfinished), count(n.Succeeded), count(n.Failed), count(n.Cancelled))
		groups = append(groups, g)
	}
	return groups, nil
}

func (u *ui) job(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		u.fail(w, r, http.StatusNotFound, "This is not the number of a job.", nil)
		return
	}
	job, err := u.client.Get(r.Context(), id)
	switch {
	case errors.Is(err, jobqueue.ErrNotFound):
		u.fail(w, r, http.StatusNotFound, "This job does not exist, or it has been deleted from the history.", nil)
		return
	case err != nil:
		u.storeFailed(w, r, err)
		return
	}
	groups, err := u.groups(r.Context(), job)
	if err != nil {
		u.storeFailed(w, r, err)
		return
	}
	d := jobData{Job: job, Steps: timeline(job), Groups: groups}
	if !u.cfg.ReadOnly {
		d.MayRetry = job.State == jobqueue.StateFailed || job.State == jobqueue.StateCancelled ||
			job.State == jobqueue.StateScheduled
		d.MayStop = !job.State.Finished() && !job.Cancelling
	}
	d.Note = notes[r.URL.Query().Get("note")]
	u.render(w, r, http.StatusOK, "job", "Job "+strconv.FormatInt(id, 10), d)
}

// notes are shown after a change and its redirect.
var notes = map[string]string{
	"retry":       "The job will run again.",
	"cancel":      "The job was cancelled, or its worker has been notified to stop it.",
	"cancelstate": "Nothing was changed: the job has ended meanwhile.",
	"retrystate":  "Nothing was changed: the job cannot be retried in its current state.",
	"duplicate":   "Nothing was changed: another job holds its unique key.",
}

func (u *ui) change(w http.ResponseWriter, r *http.Request) {
	if !u.mayChange(w, r) {
		return
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		u.fail(w, r, http.StatusNotFound, "This is not the number of a job.", nil)
		return
	}
	note := r.PathValue("action")
	switch note {
	case "retry":
		err = u.client.Retry(r.Context(), id)
	case "cancel":
		err = u.client.Cancel(r.Context(), id)
	default:
		u.fail(w, r, http.StatusNotFound, "This action does not exist.", nil)
		return
	}
	switch {
	case errors.Is(err, jobqueue.ErrNotFound):
		u.fail(w, r, http.StatusNotFound, "This job does not exist, or it has been deleted from the history.", nil)
		return
	case errors.Is(err, jobqueue.ErrState):
		note += "state"
	case errors.Is(err, jobqueue.ErrDuplicate):
		note = "duplicate"
	case err != nil:
		u.storeFailed(w, r, err)
		return
	}
	http.Redirect(w, r, u.cfg.Prefix+"/jobs/"+strconv.FormatInt(id, 10)+"?note="+note, http.StatusSeeOther)
}

func (u *ui) style(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=300")
	http.ServeFileFS(w, r, files, "templates/style.css")
}
