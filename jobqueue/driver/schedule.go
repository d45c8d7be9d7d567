package driver

import "time"

// FarFuture returns the end of a pause that has none, and the NextAt of a schedule whose rule has
// no further time.
func FarFuture() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }

// Schedule is a periodic job as a store keeps it: see jobqueue.ScheduleInfo.
type Schedule struct {
	Name, Spec     string
	NextAt, LastAt time.Time // LastAt is zero if there was none
	Skipped        int64     // times without a job
	Paused         bool
}

// Tick moves a schedule to its next time and inserts the jobs that are due. It has an effect only
// if no other process was faster.
type Tick struct {
	Name, Spec string
	Due        time.Time // Schedule.NextAt so far
	Next       time.Time // Schedule.NextAt from now on
	Jobs       []Record  // not inserted if the schedule is paused
	Skipped    int64     // times before Next that have no job
}

// Inserted returns the time of the last job that was inserted, the zero Time if there is none, and
// how many were not, because a job held their unique key.
func (t Tick) Inserted(results []InsertResult) (last time.Time, skipped int64) {
	for i, r := range results {
		if r.Duplicate {
			skipped++
		} else {
			last = t.Jobs[i].RunAt
		}
	}
	return last, skipped
}

// ScheduleChange changes a schedule by hand.
type ScheduleChange uint8

// The changes.
const (
	PauseSchedule  ScheduleChange = iota
	ResumeSchedule                // also of one that is not paused
	RunSchedule                   // makes its next job due now
	DeleteSchedule
)
