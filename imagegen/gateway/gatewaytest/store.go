// Package gatewaytest is a test suite for implementations of gateway.Store.
package gatewaytest

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
)

// Store tests a store against the contract of gateway.Store. open returns an empty store; reopen,
// if not nil, opens the same store again, as after a restart.
func Store(
	t *testing.T, open func(t *testing.T) gateway.Store, reopen func(t *testing.T, s gateway.Store) gateway.Store,
) {
	full := gateway.Task{ID: "a-1", Caller: "me", Digest: "d", State: imagegen.StateProcessing,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		Model:   "m", Prompt: "a \"fox\"\n狐", N: 2, Size: "16:9", Format: "png", Upstream: "u", Runs: 2,
		References: []gateway.Blob{{Name: "ref-1", File: "a.png", Type: "image/png", Size: 3}},
		Images:     []gateway.Blob{{}, {Name: "a-1-1.png", Type: "image/png", Size: 5, Prompt: "revised"}},
		Errors:     map[int]string{0: "filtered"},
		Failure:    &gateway.Failure{Code: "c", Message: "m", RetryAfter: time.Minute},
		Usage:      []byte(`{"input_tokens":3}`)}

	t.Run("a task is returned unchanged", func(t *testing.T) {
		s := open(t)
		require.NoError(t, s.CreateTask(t.Context(), full))
		if reopen != nil {
			s = reopen(t, s)
		}
		got, err := s.Task(t.Context(), full.ID)
		require.NoError(t, err)
		require.Equal(t, full, got)
	})
	t.Run("creating twice and updating a missing task", func(t *testing.T) {
		s := open(t)
		require.ErrorIs(t, s.UpdateTask(t.Context(), full), gateway.ErrNotFound)
		require.NoError(t, s.CreateTask(t.Context(), full))
		require.ErrorIs(t, s.CreateTask(t.Context(), gateway.Task{ID: full.ID}), gateway.ErrExists)
		changed := full
		changed.State = imagegen.StateCompleted
		require.NoError(t, s.UpdateTask(t.Context(), changed))
		got, err := s.Task(t.Context(), full.ID)
		require.NoError(t, err)
		require.Equal(t, changed, got)
		require.NoError(t, s.DeleteTask(t.Context(), full.ID))
		require.NoError(t, s.DeleteTask(t.Context(), full.ID))
		_, err = s.Task(t.Context(), full.ID)
		require.ErrorIs(t, err, gateway.ErrNotFound)
	})
	t.Run("one of several concurrent creations succeeds", func(t *testing.T) {
		s := open(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		created := 0
		for range 8 {
			wg.Go(func() {
				if err := s.CreateTask(t.Context(), full); err == nil {
					mu.Lock()
					created++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.Equal(t, 1, created)
	})
	t.Run("all tasks are listed", func(t *testing.T) {
		s := open(t)
		want := map[string]bool{}
		for i := range 20 {
			id := fmt.Sprintf("t%d", i)
			want[id] = true
			require.NoError(t, s.CreateTask(t.Context(), gateway.Task{ID: id}))
		}
		for task, err := range s.Tasks(t.Context()) {
			require.NoError(t, err)
			require.True(t, want[task.ID])
			delete(want, task.ID)
		}
		require.Empty(t, want)
	})
	t.Run("bytes are visible after Commit", func(t *testing.T) {
		s := open(t)
		b, err := s.CreateBlob(t.Context(), "x.png")
		require.NoError(t, err)
		_, err = b.Write([]byte("hello, "))
		require.NoError(t, err)
		_, err = s.OpenBlob(t.Context(), "x.png")
		require.ErrorIs(t, err, gateway.ErrNotFound)
		_, err = b.Write([]byte("world"))
		require.NoError(t, err)
		require.NoError(t, b.Commit())
		if reopen != nil {
			s = reopen(t, s)
		}
		r, err := s.OpenBlob(t.Context(), "x.png")
		require.NoError(t, err)
		size, err := r.Seek(0, io.SeekEnd)
		require.NoError(t, err)
		require.Equal(t, int64(12), size)
		_, err = r.Seek(7, io.SeekStart)
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, "world", string(data))
		require.NoError(t, r.Close())
		require.NoError(t, s.DeleteBlob(t.Context(), "x.png"))
		require.NoError(t, s.DeleteBlob(t.Context(), "x.png"))
		_, err = s.OpenBlob(t.Context(), "x.png")
		require.ErrorIs(t, err, gateway.ErrNotFound)
	})
	t.Run("many bytes are returned unchanged, from everywhere", func(t *testing.T) {
		s := open(t)
		data := make([]byte, 300_000)
		for i := range data {
			data[i] = byte(i * 31 >> 7)
		}
		b, err := s.CreateBlob(t.Context(), "x.png")
		require.NoError(t, err)
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 40_009)
			_, err := b.Write(rest[:n])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.NoError(t, b.Commit())
		r, err := s.OpenBlob(t.Context(), "x.png")
		require.NoError(t, err)
		for _, from := range []int{0, 65_535, 65_536, 131_073, len(data)} {
			_, err = r.Seek(int64(from), io.SeekStart)
			require.NoError(t, err)
			got, err := io.ReadAll(r)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data[from:], got), "from byte %d", from)
		}
		require.NoError(t, r.Close())
	})
	t.Run("aborted bytes are not stored", func(t *testing.T) {
		s := open(t)
		b, err := s.CreateBlob(t.Context(), "x.png")
		require.NoError(t, err)
		require.NoError(t, b.Abort())
		_, err = s.OpenBlob(t.Context(), "x.png")
		require.ErrorIs(t, err, gateway.ErrNotFound)
	})
	t.Run("names do not escape the store", func(t *testing.T) {
		s := open(t)
		for _, name := range []string{"../tasks/a-1.json", "..", "", "a/b", ".hidden"} {
			_, err := s.OpenBlob(t.Context(), name)
			require.ErrorIs(t, err, gateway.ErrNotFound, name)
			_, err = s.Task(t.Context(), name)
			require.ErrorIs(t, err, gateway.ErrNotFound, name)
		}
	})
}
