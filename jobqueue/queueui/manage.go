package queueui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"lessonkit.example/jobqueue"
)

const maxForm = 16 << 10 // bytes

// mayChange reports whether anything may be changed. If not, it answers the request.
func (u *ui) mayChange(w http.ResponseWriter, r *http.Request) bool {
	if u.cfg.ReadOnly {
		u.fail(w, r, http.StatusForbidden, "These pages are read-only.", nil)
	}
	return !u.cfg.ReadOnly
}

// form reads the form of a request that changes something. If it must not, it answers the request.
func (u *ui) form(w http.ResponseWriter, r *http.Request) bool {
	if !u.mayChange(w, r) {
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		u.fail(w, r, http.StatusBadRequest, "The form cannot be read.", nil)
		return false
	}
	return true
}

// changeQueue pauses or resumes the queue that the form names.
func (u *ui) changeQueue(w http.ResponseWriter, r *http.Request) {
	u.changeNamed(w, r, "queue", map[string]func(context.Context, string) error{
		"pause":  func(ctx context.Context, queue string) error { return u.client.Pause(ctx, queue, time.Time{}) },
		"resume": u.client.Resume,
	})
}

// changeSchedule pauses, resumes or runs the schedule that the form names.
func (u *ui) changeSchedule(w http.ResponseWriter, r *http.Request) {
	u.changeNamed(w, r, "name", map[string]func(context.Context, string) error{
		"pause": u.client.PauseSchedule, "resume": u.client.ResumeSchedule, "run": u.client.RunSchedule,
	})
}

// changeNamed changes what a field of the form names, by the action in the path.
func (u *ui) changeNamed(
	w http.ResponseWriter, r *http.Request, field string, changes map[string]func(context.Context, string) error,
) {
	if !u.form(w, r) {
		return
	}
	change, name := changes[r.PathValue("action")], r.PostForm.Get(field)
	if change == nil {
		u.fail(w, r, http.StatusNotFound, "This action does not exist.", nil)
		return
	}
	if name == "" {
		u.fail(w, r, http.StatusBadRequest, "The form has no name.", nil)
		return
	}
	switch err := change(r.Context(), name); {
	case errors.Is(err, jobqueue.ErrNotFound):
		u.fail(w, r, http.StatusNotFound, "This schedule does not exist any more.", nil)
	case err != nil:
		u.storeFailed(w, r, err)
	default:
		http.Redirect(w, r, u.cfg.Prefix+"/", http.StatusSeeOther)
	}
}

// bulkActions are the changes of all jobs of a list, by name, with the states that they apply to.
var bulkActions = map[string][]jobqueue.State{
	"retry":  {jobqueue.StateFailed, jobqueue.StateCancelled, jobqueue.StateScheduled},
	"cancel": {jobqueue.StateWaiting, jobqueue.StateScheduled, jobqueue.StateHeld, jobqueue.StateRunning},
}

// The confirmation of a bulk action counts maxCounted jobs at most, and countedAtOnce at a time
// because each comes with its arguments.
const (
	maxCounted    = 1000
	countedAtOnce = 100
)

// bulkData is the confirmation of a bulk action.
type bulkData struct {
	Filter jobqueue.Filter
	Action string
	Count  string
}

// bulkFilter reads the list and the action of a bulk action. If they do not fit, it answers the
// request.
func (u *ui) bulkFilter(w http.ResponseWriter, r *http.Request, v url.Values) (f jobqueue.Filter, ok bool) {
	f = jobqueue.Filter{Queue: v.Get("queue"), Kind: v.Get("kind")}
	states := bulkActions[r.PathValue("action")]
	i := slices.IndexFunc(states, func(s jobqueue.State) bool { return s.String() == v.Get("state") })
	if i < 0 {
		u.fail(w, r, http.StatusBadRequest, "This action does not exist for jobs in this state.", nil)
		return f, false
	}
	f.State = states[i]
	return f, true
}

// confirmBulk asks for a confirmation, with the number of jobs.
func (u *ui) confirmBulk(w http.ResponseWriter, r *http.Request) {
	if !u.mayChange(w, r) {
		return
	}
	f, ok := u.bulkFilter(w, r, r.URL.Query())
	if !ok {
		return
	}
	n, err := u.counted(r.Context(), f)
	if err != nil {
		u.storeFailed(w, r, err)
		return
	}
	d := bulkData{Filter: f, Action: r.PathValue("action"), Count: group(n)}
	if n == maxCounted {
		d.Count += " or more"
	}
	u.render(w, r, http.StatusOK, "bulk", "Confirmation", d)
}

// counted returns how many jobs f selects, maxCounted if there are more.
func (u *ui) counted(ctx context.Context, f jobqueue.Filter) (n int, err error) {
	for f.Limit = countedAtOnce; n < maxCounted; {
		jobs, err := u.client.List(ctx, f)
		if err != nil {
			return 0, err
		}
		n += len(jobs)
		if len(jobs) < f.Limit {
			break
		}
		f.Before = jobs[len(jobs)-1].ID
	}
	return n, nil
}

// bulk changes all jobs of a list.
func (u *ui) bulk(w http.ResponseWriter, r *http.Request) {
	if !u.form(w, r) {
		return
	}
	f, ok := u.bulkFilter(w, r, r.PostForm)
	if !ok {
		return
	}
	change := u.client.RetryMany
	if r.PathValue("action") == "cancel" {
		change = u.client.CancelMany
	}
	changed, skipped, err := change(r.Context(), f)
	if err != nil {
		u.storeFailed(w, r, fmt.Errorf("%s, %d changed: %w", r.PathValue("action"), changed, err))
		return
	}
	target := query(f, "changed", strconv.Itoa(changed)) + "&skipped=" + strconv.Itoa(skipped)
	http.Redirect(w, r, u.cfg.Prefix+"/jobs"+target, http.StatusSeeOther)
}

// bulkNote is shown after a bulk action.
func bulkNote(v url.Values) string {
	changed, err := strconv.Atoi(v.Get("changed"))
	if err != nil {
		return ""
	}
	note := "Jobs changed: " + group(changed) + "."
	if skipped, err := strconv.Atoi(v.Get("skipped")); err == nil && skipped > 0 {
		note += " Not changed, because they started, or another job holds their unique key: " + group(skipped) + "."
	}
	return note
}
