package queuetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

// attempt is what a worker process tells the referee about an attempt of a job.
type attempt struct {
	ID                     int64
	LimitKey, Group, After string
}

// referee counts exactly what runs at the same time. Worker processes report to it when handlers
// begin and end and wait for its answer, and the connection of a process that is killed breaks.
type referee struct {
	listen net.Listener
	group  sync.WaitGroup

	mu      sync.Mutex
	running int
	most    int           // that ran at the same time
	begun   map[int64]int // by job
	ended   map[int64]int
	begin   func(a attempt) // checks an attempt; mu is held
	end     func(a attempt) // nil: nothing; mu is held
}

func newReferee(t *testing.T) *referee {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // the path of a socket must be short
	require.NoError(t, err)
	r := &referee{begun: map[int64]int{}, ended: map[int64]int{}}
	r.listen, err = net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	r.group.Go(func() {
		for {
			c, err := r.listen.Accept()
			if err != nil {
				return
			}
			r.group.Go(func() { r.serve(c) })
		}
	})
	t.Cleanup(func() {
		r.listen.Close()
		r.group.Wait()
		os.RemoveAll(dir)
	})
	return r
}

func (r *referee) serve(c net.Conn) {
	defer c.Close()
	var a attempt
	if json.NewDecoder(c).Decode(&a) != nil {
		return // the process was killed
	}
	r.mu.Lock()
	r.running++
	r.most = max(r.most, r.running)
	r.begun[a.ID]++
	if r.begin != nil {
		r.begin(a)
	}
	r.mu.Unlock()
	_, writeErr := c.Write([]byte{0})
	_, readErr := io.ReadFull(c, make([]byte, 1))
	r.mu.Lock()
	r.running--
	if readErr == nil {
		r.ended[a.ID]++
	}
	if r.end != nil {
		r.end(a)
	}
	r.mu.Unlock()
	if errors.Join(writeErr, readErr) == nil {
		_, _ = c.Write([]byte{0})
	}
}

// play runs f as a handler of a worker process whose referee listens at address.
func play(ctx context.Context, address string, job *jobqueue.Job, f func()) error {
	if address == "" {
		f()
		return nil
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	a := attempt{ID: job.ID, LimitKey: job.LimitKey, Group: job.Group, After: job.AfterGroup}
	if err := json.NewEncoder(c).Encode(a); err != nil {
		return err
	}
	ack := make([]byte, 1)
	if _, err := io.ReadFull(c, ack); err != nil {
		return fmt.Errorf("referee: %w", err)
	}
	f()
	if _, err := c.Write(ack); err != nil {
		return err
	}
	_, err = io.ReadFull(c, ack)
	return err
}
