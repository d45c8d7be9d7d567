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

var errSlowSearch = errors.New("the search took too long")

func (u *ui) search(w http.ResponseWriter, r *http.Request) error {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	if text == "" || utf8.RuneCountInString(text) > maxSearchText {
		return failure{http.StatusBadRequest, "The search needs a text of 1 to 200 characters."}
	}
	before, err := before(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), searchTimeout, errSlowSearch)
	defer cancel()
	jobs, next, err := u.client.Search(ctx, text, before)
	if err == nil && before == 0 {
		jobs, err = u.withNumber(ctx, jobs, text)
	}
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	d := searchData{Text: text, Window: jobqueue.SearchWindow, Next: next}
	d.table = table{Jobs: jobs, AllStates: true, TimeColumn: "Ended or may start", Paged: before != 0}
	return u.render(w, r, http.StatusOK, "search", "Search", d)
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
