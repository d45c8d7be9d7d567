package provider

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"lessonkit.example/asr"
)

const (
	// maxFaulty is how many different recordings in a row must fail until the recogniser is taken
	// for the cause.
	maxFaulty = 3
	// minDelay and maxDelay limit how long a recording waits for a recogniser that fails with all.
	// In between it waits as long as the recogniser has been failing.
	minDelay = 15 * time.Second
	maxDelay = 10 * time.Minute
)

// Faults distinguishes the failures of a recogniser from those of recordings: if several different
// recordings fail in a row, the recogniser is the cause. Its zero value is ready. It is safe for
// concurrent use.
type Faults struct {
	mu     sync.Mutex
	failed map[string]bool // different recordings since the last success
	since  time.Time       // the first of them
}

// Judge returns err, the result of a recording; or an error of class ErrUnavailable and true if
// it belongs to the recogniser. It must be called for every result, also for success.
func (f *Faults) Judge(audio asr.Audio, err error) (_ error, failing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, _ := errors.AsType[*asr.Error](err)
	switch {
	case err == nil, e != nil && e.Class == asr.ErrUnusableAudio && e.Status+len(e.Code) > 0:
		f.failed = nil // it works
		return err, false
	case e == nil, e.Class != asr.ErrLost && (e.Class != nil || e.Permanent() || e.Status+len(e.Code) == 0):
		return err, false // not an answer, or one that says more
	}
	if f.failed == nil {
		f.failed, f.since = map[string]bool{}, time.Now()
	}
	if len(f.failed) < maxFaulty {
		f.failed[fmt.Sprint(audio.Name, " ", audio.Size)] = true
	}
	if len(f.failed) < maxFaulty {
		return err, false
	}
	return &asr.Error{
		Op: e.Op, Class: asr.ErrUnavailable, Code: e.Code, Status: e.Status, Err: e.Err,
		Message: fmt.Sprintf("the last %d different recordings have failed: %s", maxFaulty, e.Message),
		After:   min(max(time.Since(f.since), minDelay), maxDelay),
	}, true
}

// Answered must be called when the recogniser has answered a request without a recording, after a
// result of class ErrLost. It is there again, so that the recording is the likely cause. Without
// this, several recordings that stop the recogniser would excuse one another for ever.
func (f *Faults) Answered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = nil
}
