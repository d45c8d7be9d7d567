package driver

import "time"

// WaitBuckets is the number of counters in Minute.Waits.
const WaitBuckets = 60

// KeepMinutes is how long an engine keeps a Minute.
const KeepMinutes = 7 * 24 * time.Hour

// Minute is what workers did with the jobs of a queue in one minute.
type Minute struct {
	Queue            string
	At               time.Time // its beginning; AddMinutes ignores it
	Finished, Failed int
	Waits            [WaitBuckets]int // started jobs by how long they waited: see jobqueue.waitBucket
}
