package queueui

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lessonkit.example/jobqueue"
)

const (
	maxSearchText = 200 // characters
	searchTimeout = 5 * time.Second
)

// searchData is a page of jobs found by their number or arguments.
type searchData struct {
	table
	Text   string
	Window int   // how many jobs a page reads
	Next   int64 // the page before this id, 0: none
}

func (u *ui) search(w http.ResponseWriter, r *http.Request) {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	if text == "" || utf8.RuneCountInString(text) > maxSearchText {
		u.fail(w, r, http.StatusBadRequest, "The search needs a text of 1 to 200 characters.", nil)
		return
	}
	before, ok := u.before(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), searchTimeout)
	defer cancel()
	jobs, next, err := u.client.Search(ctx, text, before)
	if err == nil && before == 0 {
		jobs, err = u.withNumber(ctx, jobs, text)
	}
	switch {
	case ctx.Err() != nil && r.Context().Err() == nil:
		u.fail(w, r, http.StatusServiceUnavailable, "The search took too long. The database is busy.", err)
		return
	case err != nil:
		u.storeFailed(w, r, err)
		return
	}
	d := searchData{Text: text, Window: jobqueue.SearchWindow, Next: next}
	d.table = table{Jobs: jobs, AllStates: true, TimeColumn: "Ended or may start", Paged: before != 0}
	u.render(w, r, http.StatusOK, "search", "Search", d)
}

// withNumber adds, before the others, the job whose number text is, if there is one.
func (u *ui) withNumber(ctx context.Context, jobs []*jobqueue.Job, text string) ([]*jobqueue.Job, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return jobs, nil
	}
	job, err := u.client.Get(ctx, id)
	if errors.Is(err, jobqueue.ErrNotFound) {
		return jobs, nil
	}
	if err != nil {
		return nil, err
	}
	jobs = slices.DeleteFunc(jobs, func(j *jobqueue.Job) bool { return j.ID == id })
	return append([]*jobqueue.Job{job}, jobs...), nil
}
