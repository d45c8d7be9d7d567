//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/fleet"
)

// disk is a small file system. Mounting it takes root.
type disk struct {
	dir  string
	size int64
}

func newDisk(t *testing.T, size int64) *disk {
	t.Helper()
	d := &disk{dir: t.TempDir(), size: size}
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, fmt.Sprint("size=", size)); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(d.dir, syscall.MNT_DETACH)) })
	return d
}

func (d *disk) grow(t *testing.T, by int64) {
	t.Helper()
	d.size += by
	require.NoError(t, syscall.Mount("tmpfs", d.dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprint("size=", d.size)))
}

// readOnly remounts the file system as soon as no file is being written.
func (d *disk) readOnly(t *testing.T) {
	t.Helper()
	eventually(t, "the file system becomes read-only", func() bool {
		return syscall.Mount("tmpfs", d.dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "") == nil
	})
}

func (d *disk) writable(t *testing.T) {
	t.Helper()
	require.NoError(t, syscall.Mount("tmpfs", d.dir, "tmpfs", syscall.MS_REMOUNT, ""))
}

// refusals returns how many uploads were refused because storage was unavailable.
func refusals(l *fleet.Fleet) (n int) {
	failures := l.Failures()
	return failures["503 storage_unavailable"] + failures["503 database_unavailable"] + failures["507 storage_full"]
}

// The disk is full; with SQLite, also the database's.
func TestDiskFull(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		const start, step = 4 << 20, 4 << 20
		d := newDisk(t, start)
		if url[:6] == "sqlite" {
			url = "sqlite:" + filepath.Join(d.dir, "lessonkit.db")
		}
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.useDirectory(filepath.Join(d.dir, "audio"))
		s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4",
			"AUDIO_RESERVE_BYTES=-1")
		s.start(t)
		l := startLoad(t, 8, 20*time.Millisecond, s)
		fills := times(2, 3, 10)
		for range fills {
			before := refusals(l)
			eventually(t, "the disk is full", func() bool { return refusals(l) >= before+20 })
			d.grow(t, step)
		}
		d.grow(t, 1<<30)
		time.Sleep(soon())
		sum(t, "disk full %d times", fills)
		audit(t, l, s, rec)
	})
}

func TestAudioDirectoryReadOnly(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		d := newDisk(t, 1<<30)
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.useDirectory(filepath.Join(d.dir, "audio"))
		s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4")
		s.start(t)
		l := startLoad(t, 4, 100*time.Millisecond, s)
		changes := times(2, 3, 10)
		for range changes {
			time.Sleep(soon())
			d.readOnly(t)
			before := refusals(l)
			eventually(t, "uploads are refused", func() bool { return refusals(l) >= before+4 })
			time.Sleep(rand.N(200 * time.Millisecond))
			d.writable(t)
		}
		sum(t, "audio directory read-only %d times", changes)
		audit(t, l, s, rec)
	})
}
