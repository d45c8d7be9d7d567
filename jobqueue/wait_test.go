package jobqueue

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
)

// flaky is a model that is not available to two calls of three of Get, and every other one of
// Unfinished, beginning with the first.
type flaky struct {
	*model
	gets, looks int
}

func (f *flaky) Get(ctx context.Context, id int64) (*driver.Job, error) {
	if f.gets++; f.gets%3 != 0 {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, errAway)
	}
	return f.model.Get(ctx, id)
}

func (f *flaky) Unfinished(_ context.Context, ids []int64) (left []int64, err error) {
	if f.looks++; f.looks%2 == 1 {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, errAway)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if f.jobs[id] != nil {
			left = append(left, id)
		}
	}
	return left, nil
}

func TestWaitOutlastsOutages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{model: newModel()}
		j := f.add(time.Now(), time.Now(), 2)
		began := time.Now()
		time.AfterFunc(time.Minute, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.jobs, j.ID)
			f.done[j.ID] = j
		})
		job, err := NewClient(f).Wait(t.Context(), j.ID)
		require.NoError(t, err)
		require.Equal(t, StateSucceeded, job.State)
		require.InDelta(t, time.Minute, time.Since(began), float64(3*time.Second))
		require.Equal(t, 3, f.gets)
	})
}
