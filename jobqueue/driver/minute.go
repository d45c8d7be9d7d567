package driver

import "time"

const (
	WaitBuckets = 60                 // counters in Minute.Waits
	KeepMinutes = 7 * 24 * time.Hour // how long an engine keeps a Minute
)

// Minute is what workers did with the jobs of a queue in one minute.
type Minute struct {
	Queue            string
	At               time.Time // its beginning; AddMinutes ignores it
	Finished, Failed int
	Waits            [WaitBuckets]int // started jobs by how long they waited: see jobqueue.waitBucket
}
