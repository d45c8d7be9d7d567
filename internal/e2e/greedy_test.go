//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/feedback/feedbackclient"
)

// as returns a client of another teacher.
func (s *service) as(user string) feedbackclient.Client {
	c := s.client
	c.Header = http.Header{"X-Development-User": {user}}
	return c
}

// A teacher uploads until the disk is full. With SQLite, the database is on the same disk.
// Everything but uploads, and with SQLite what stores, goes on for everybody, and deleting makes
// space for uploads again.
func TestOneTeacherFillsTheDisk(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		d := newDisk(t, 60<<20)
		if url[:6] == "sqlite" {
			url = "sqlite:" + filepath.Join(d.dir, "lessonkit.db")
		}
		s := newService(t, url, newRecogniser(t).url())
		s.useDirectory(filepath.Join(d.dir, "audio"))
		s.env = append(s.env, "AUDIO_RESERVE_BYTES=10000000")
		s.start(t)
		greedy, honest := s.as("greedy"), s.as("honest")
		profile, session, lesson := openLesson(t, honest)
		greedyProfile, _, greedyLesson := openLesson(t, greedy)
		_, err := honest.Upload(t.Context(), lesson.ID, 0, "a.wav", fleet.NewRecording())
		require.NoError(t, err)

		stored := fill(t, greedy, greedyLesson.ID)
		d.take(t, "some", 2<<20) // the last uploads that were refused have left space for small ones
		status := func(method, path string, body any) int {
			err := honest.Call(t.Context(), method, "/api/v1"+path, body, nil)
			var p *feedbackclient.Problem
			if errors.As(err, &p) {
				return p.Status
			}
			require.NoError(t, err)
			return http.StatusOK
		}
		text := map[string]string{"feedback_text": "Ming mixed greens."}
		_, err = honest.Upload(t.Context(), lesson.ID, 1, "a.wav", fleet.NewRecording())
		var full *feedbackclient.Problem
		require.ErrorAs(t, err, &full)
		require.Equal(t, "storage_full", full.Code)
		require.Equal(t, http.StatusInsufficientStorage, full.Status)
		require.Equal(t, 200, status("GET", "/feedback-sessions/"+session.ID, nil))
		stores := http.StatusInsufficientStorage
		if s.shared() {
			stores = http.StatusOK
		}
		require.Equal(t, stores, status("PUT", "/feedback-sessions/"+session.ID, text))
		require.Equal(t, stores, status("POST", "/profiles", map[string]string{"name": "Another"}))
		require.Equal(t, 200, status("POST", "/feedback-lessons/"+lesson.ID+"/finish", nil))
		var health struct {
			Status           string `json:"status"`
			StorageAvailable bool   `json:"storage_available"`
		}
		eventually(t, "/health reports the full disk", func() bool {
			require.NoError(t, s.client.Call(t.Context(), http.MethodGet, "/health", nil, &health))
			return health.Status == "degraded" && !health.StorageAvailable
		})
		require.Less(t, s.metric(t, "audio_storage_free_bytes"), s.metric(t, "audio_storage_reserve_bytes"))
		// Another program takes the rest, but for what SQLite needs to delete.
		left := d.take(t, "rest", 1<<30)
		if s.shared() {
			require.Zero(t, d.free(t))
		} else {
			require.NoError(t, os.Truncate(filepath.Join(d.dir, "rest"), left-1<<20))
		}
		require.Equal(t, 200, status("DELETE", "/profiles/"+profile.ID, nil))
		require.NoError(t, greedy.Call(t.Context(), http.MethodDelete, "/api/v1/profiles/"+greedyProfile.ID, nil, nil))
		require.NoError(t, os.Remove(filepath.Join(d.dir, "rest")))

		eventually(t, "text is stored again", func() bool { // when recordings have been deleted
			_, err = honest.EnsureProfile(t.Context(), "Someone small")
			return err == nil
		})
		_, _, lesson = openLesson(t, honest)
		eventually(t, "uploads are accepted again", func() bool {
			_, err = honest.Upload(t.Context(), lesson.ID, 0, "a.wav", fleet.NewRecording())
			return err == nil
		})
		sum(t, "one teacher stored %d recordings of 1 MB on a disk of 60 MB before 507; %d KB were left", stored,
			left>>10)
	})
}

// Teachers save long records until they are refused, by their daily limit or for the disk's sake.
// Others go on, everybody reads, signs in and deletes, and deleting makes space again.
func TestTeachersFillTheDiskWithText(t *testing.T) {
	t.Parallel()
	d := newDisk(t, 60<<20)
	s := newService(t, "sqlite:"+filepath.Join(d.dir, "lessonkit.db"), "")
	s.start(t)
	text := strings.Repeat("🎨", 20_000)
	write := func(name string) (status, records int) {
		p, err := s.as(name).EnsureProfile(t.Context(), "Ming")
		for ; err == nil; records++ {
			r := map[string]string{"profile_id": p.ID, "feedback_date": "2026-05-31", "content": text}
			err = s.as(name).Call(t.Context(), http.MethodPost, "/api/v1/feedback-records", r, nil)
		}
		var problem *feedbackclient.Problem
		require.ErrorAs(t, err, &problem)
		return problem.Status, records
	}
	call := func(name, method, path string) error {
		return s.as(name).Call(t.Context(), method, path, nil, nil)
	}
	var ready struct {
		Storage bool `json:"storage_available"`
	}
	status, first := write("greedy0")
	require.Equal(t, http.StatusTooManyRequests, status)
	honest, _, _ := openLesson(t, s.as("honest"))
	require.NoError(t, s.client.Call(t.Context(), http.MethodGet, "/readyz", nil, &ready))
	require.True(t, ready.Storage)

	teachers, last := 1, 0
	for ; status == http.StatusTooManyRequests; teachers++ {
		status, last = write(fmt.Sprint("greedy", teachers))
	}
	require.Equal(t, http.StatusInsufficientStorage, status)
	eventually(t, "/readyz tells that there is no space", func() bool {
		require.NoError(t, s.client.Call(t.Context(), http.MethodGet, "/readyz", nil, &ready))
		return !ready.Storage
	})
	require.NoError(t, call("honest", http.MethodGet, "/api/v1/feedback-records"))
	require.NoError(t, call("new", http.MethodGet, "/api/v1/auth/me"), "a teacher who has never signed in")
	require.NoError(t, call("honest", http.MethodDelete, "/api/v1/profiles/"+honest.ID))
	for i := range teachers {
		require.NoError(t, call(fmt.Sprint("greedy", i), http.MethodDelete, "/api/v1/auth/me"))
	}
	eventually(t, "others store again", func() bool {
		_, err := s.as("honest").EnsureProfile(t.Context(), "Wei")
		return err == nil
	})
	sum(t, "a teacher stored %d records of 80 kB until 429; "+
		"the disk of 60 MB had space for %d teachers, the last with %d",
		first, teachers, last)
}

// fill uploads recordings of 1 MB, four at once, until the server has no space, and returns how
// many.
func fill(t *testing.T, c feedbackclient.Client, lesson string) int {
	t.Helper()
	var stored atomic.Int64
	// In the end one alone: several that are refused at the same moment leave space for others.
	for first, workers := range []int{4, 1} {
		fillAtOnce(t, c, lesson, 4*first, workers, &stored)
	}
	return int(stored.Load())
}

// fillAtOnce uploads from several workers, whose numbers begin with first, until each is refused.
func fillAtOnce(t *testing.T, c feedbackclient.Client, lesson string, first, workers int, stored *atomic.Int64) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	for worker := first; worker < first+workers; worker++ {
		group.Go(func() error {
			for i := range 100 {
				audio := wav(1 << 20)
				_, err := c.Upload(ctx, lesson, worker*1000+i, "a.wav", audio)
				var p *feedbackclient.Problem
				switch {
				case err == nil:
					stored.Add(1)
				case errors.As(err, &p) && p.Status == http.StatusInsufficientStorage:
					return nil
				case ctx.Err() == nil && p != nil && p.Permanent(): // a refusal may end the connection
					return err
				}
			}
			return fmt.Errorf("400 MB fit on the disk")
		})
	}
	require.NoError(t, group.Wait())
}

// take writes a file of the given size, or as large as the disk has space for, and returns its
// size.
func (d *disk) take(t *testing.T, name string, size int64) (taken int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(d.dir, name))
	require.NoError(t, err)
	defer f.Close()
	for block := make([]byte, 4096); taken < size; {
		n, err := f.Write(block)
		taken += int64(n)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		require.NoError(t, err)
	}
	return taken
}

func (d *disk) free(t *testing.T) uint64 {
	t.Helper()
	var s syscall.Statfs_t
	require.NoError(t, syscall.Statfs(d.dir, &s))
	return s.Bavail
}
