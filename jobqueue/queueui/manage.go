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

// notes are shown after the change of a job and its redirect.
var notes = map[string]string{
	"retry":       "The job will run again.",
	"cancel":      "The job was cancelled, or its worker has been notified to stop it.",
	"cancelstate": "Nothing was changed: the job has ended meanwhile.",
	"retrystate":  "Nothing was changed: the job cannot be retried in its current state.",
	"duplicate":   "Nothing was changed: another job holds its unique key.",
}

var errNoAction = failure{http.StatusNotFound, "This action does not exist."}

func (u *ui) changeJob(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	note := r.PathValue("action")
	switch note {
	case "retry":
		err = u.client.Retry(r.Context(), id)
	case "cancel":
		err = u.client.Cancel(r.Context(), id)
	default:
		return errNoAction
	}
	switch {
	case errors.Is(err, jobqueue.ErrState):
		note += "state"
	case errors.Is(err, jobqueue.ErrDuplicate):
		note = "duplicate"
	case err != nil:
		return err
	}
	http.Redirect(w, r, u.cfg.Prefix+"/jobs/"+strconv.FormatInt(id, 10)+"?note="+note, http.StatusSeeOther)
	return nil
}

func (u *ui) changeQueue(w http.ResponseWriter, r *http.Request) error {
	return u.changeNamed(w, r, "queue", map[string]func(context.Context, string) error{
		"pause":  func(ctx context.Context, queue string) error { return u.client.Pause(ctx, queue, time.Time{}) },
		"resume": u.client.Resume,
	})
}

func (u *ui) changeSchedule(w http.ResponseWriter, r *http.Request) error {
	return u.changeNamed(w, r, "name", map[string]func(context.Context, string) error{
		"pause": u.client.PauseSchedule, "resume": u.client.ResumeSchedule, "run": u.client.RunSchedule,
	})
}

// changeNamed changes what a field of the form names, by the action in the path.
func (u *ui) changeNamed(
	w http.ResponseWriter, r *http.Request, field string, changes map[string]func(context.Context, string) error,
) error {
	change, name := changes[r.PathValue("action")], r.PostForm.Get(field)
	if change == nil {
		return errNoAction
	}
	if name == "" {
		return failure{http.StatusBadRequest, "The form has no name."}
	}
	if err := change(r.Context(), name); err != nil {
		return err
	}
	http.Redirect(w, r, u.cfg.Prefix+"/", http.StatusSeeOther)
	return nil
}

// bulkActions are the changes of all jobs of a list, by name, with the states that they apply to.
var bulkActions = map[string][]jobqueue.State{
	"retry": {jobqueue.StateFailed, jobqueue.StateCancelled, jobqueue.StateScheduled},
	"cancel": {
		jobqueue.StateWaiting, jobqueue.StateScheduled, jobqueue.StateHeld, jobqueue.StateRunning,
	},
}

type bulkData struct {
	Filter jobqueue.Filter
	Action string
}

// bulkFilter reads the list of a bulk action from the query or the form.
func bulkFilter(r *http.Request) (jobqueue.Filter, error) {
	states := bulkActions[r.PathValue("action")]
	i := slices.IndexFunc(states, func(s jobqueue.State) bool { return s.String() == r.Form.Get("state") })
	if i < 0 {
		return jobqueue.Filter{}, failure{http.StatusBadRequest, "This action does not exist for jobs in this state."}
	}
	return jobqueue.Filter{State: states[i], Queue: r.Form.Get("queue"), Kind: r.Form.Get("kind")}, nil
}

func (u *ui) confirmBulk(w http.ResponseWriter, r *http.Request) error {
	f, err := bulkFilter(r)
	if err != nil {
		return err
	}
	return u.render(w, r, http.StatusOK, "bulk", "Confirmation", bulkData{Filter: f, Action: r.PathValue("action")})
}

func (u *ui) bulk(w http.ResponseWriter, r *http.Request) error {
	f, err := bulkFilter(r)
	if err != nil {
		return err
	}
	change := u.client.RetryMany
	if r.PathValue("action") == "cancel" {
		change = u.client.CancelMany
	}
	changed, skipped, err := change(r.Context(), f)
	if err != nil {
		return fmt.Errorf("%s, %d changed: %w", r.PathValue("action"), changed, err)
	}
	target := query(f, "changed", strconv.Itoa(changed)) + "&skipped=" + strconv.Itoa(skipped)
	http.Redirect(w, r, u.cfg.Prefix+"/jobs"+target, http.StatusSeeOther)
	return nil
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
