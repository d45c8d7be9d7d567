package queueui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"sort"
	"strconv"
	"time"

	"lessonkit.example/jobqueue"
)

func (u *ui) funcs() template.FuncMap {
	return template.FuncMap{
		"path":     func(s string) string { return u.cfg.Prefix + s },
		"count":    count,
		"group":    group,
		"age":      age,
		"ago":      func(t time.Time) string { return ago(time.Since(t)) },
		"left":     left,
		"never":    never,
		"stamp":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") },
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"pretty":   pretty,
		"short":    short,
		"last":     last,
		"since":    since,
		"progress": progress,
		"query":    func(f jobqueue.Filter, key string, value any) string { return query(f, key, fmt.Sprint(value)) },
	}
}

// count groups the digits of n, and marks a count above StatsLimit with a plus sign.
func count(n int) string {
	if n > jobqueue.StatsLimit {
		return group(jobqueue.StatsLimit) + "+"
	}
	return group(n)
}

func group(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202F" + s[i:]
	}
	return s
}

// age formats a duration with at most two units.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return strconv.Itoa(int(d.Milliseconds())) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func ago(d time.Duration) string {
	if d < 0 {
		return "in " + age(-max(d, -math.MaxInt64)) // the least Duration has no opposite
	}
	return age(d) + " ago"
}

// never reports whether t stands for no time: the end of a pause that has none, or the next time of
// a schedule whose rule has no further one.
func never(t time.Time) bool { return t.Year() == 9999 }

// left returns how long a pause still lasts, "" until somebody ends it.
func left(until time.Time) string {
	if never(until) {
		return ""
	}
	return age(time.Until(until))
}

func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}

// short truncates raw to a line of a table.
func short(raw any) string {
	s := []rune(fmt.Sprintf("%.81s", raw)) // arguments may have megabytes
	if len(s) > 80 {
		return string(s[:79]) + "…"
	}
	return string(s)
}

// last returns the error of the last failed attempt, or nil.
func last(errs []jobqueue.AttemptError) *jobqueue.AttemptError {
	if len(errs) == 0 {
		return nil
	}
	return &errs[len(errs)-1]
}

// progress returns the progress that a job has saved, in percent, "" if none.
func progress(j *jobqueue.Job) string {
	var saved struct {
		Progress *float64 `json:"progress"`
	}
	if json.Unmarshal(j.Saved, &saved) != nil || saved.Progress == nil {
		return ""
	}
	const rounding = 1e-9 // 100 * 0.29 is a little less than 29
	return strconv.Itoa(int(100*min(max(*saved.Progress, 0), 1) + rounding))
}

// since returns since when the job has its state, or when it may start.
func since(j *jobqueue.Job) time.Time {
	switch {
	case j.State.Finished():
		return j.FinishedAt
	case j.State == jobqueue.StateRunning:
		return j.ClaimedAt
	}
	return j.RunAt
}

// step is something that happened to a job.
type step struct {
	At    time.Time
	Class string // for the style sheet
	Text  string
	Error *jobqueue.AttemptError
	Gap   string // since the step before
}

// timeline lists what has happened and what will.
func timeline(j *jobqueue.Job) []step {
	steps := []step{{At: j.CreatedAt, Class: "enqueued", Text: "Enqueued in " + j.Queue}}
	for i := range j.Errors {
		e := &j.Errors[i]
		text := "Attempt " + strconv.Itoa(e.Attempt) + " failed"
		steps = append(steps, step{At: e.At, Class: "failed", Text: text, Error: e})
	}
	if !j.ClaimedAt.IsZero() {
		text := "Attempt " + strconv.Itoa(j.Attempt) + " started"
		if j.State == jobqueue.StateRunning {
			text += " by worker " + strconv.FormatInt(j.Worker, 10)
		}
		steps = append(steps, step{At: j.ClaimedAt, Class: "running", Text: text})
	}
	switch {
	case j.State.Finished():
		text := map[jobqueue.State]string{
			jobqueue.StateSucceeded: "Succeeded", jobqueue.StateFailed: "Failed permanently",
			jobqueue.StateCancelled: "Cancelled",
		}[j.State]
		steps = append(steps, step{At: j.FinishedAt, Class: j.State.String(), Text: text})
	case j.State == jobqueue.StateScheduled:
		steps = append(steps, step{At: j.RunAt, Class: "scheduled", Text: "May start"})
	case j.State == jobqueue.StateWaiting && j.RunAt.After(j.CreatedAt.Add(time.Second)):
		steps = append(steps, step{At: j.RunAt, Class: "waiting", Text: "Waiting to start"})
	}
	sort.SliceStable(steps, func(a, b int) bool { return steps[a].At.Before(steps[b].At) })
	for i := 1; i < len(steps); i++ {
		if d := steps[i].At.Sub(steps[i-1].At); d >= time.Millisecond {
			steps[i].Gap = age(d)
		}
	}
	return steps
}
