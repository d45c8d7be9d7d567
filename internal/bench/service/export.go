package service

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httputil"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/db"
)

const (
	exportedSegments = 10_000
	exportedSize     = 100_000 // bytes of each recording
)

// export measures the rate of an export of 10,000 recordings, and its memory above that of the idle
// process.
func (b *bench) export(ctx context.Context) error {
	ours, err := b.start(spec{Side: "ours"})
	if err != nil {
		return err
	}
	if err := b.recordLessons(ctx, ours); err != nil {
		return err
	}
	// What the first export allocates once is not part of the figure.
	if _, err := export(ours.spec.Addr, ours.Tokens[1]); err != nil {
		return err
	}
	rate := harness.Row{Name: "export of 10 000 segments", Unit: "MB/s", Must: 100}
	memory := harness.Row{Name: "memory over idle, such an export", Unit: "MiB", Better: harness.Lower, Must: 32}
	for range b.Pairs {
		var size int64
		started := time.Now()
		over, err := memoryOver(ours.Pid(), func() (err error) {
			size, err = export(ours.spec.Addr, ours.Tokens[0])
			return err
		})
		if err != nil {
			return err
		}
		if size < exportedSegments*exportedSize {
			return fmt.Errorf("an export of %d recordings has only %d bytes", exportedSegments, size)
		}
		rate.Ours = append(rate.Ours, float64(size)/1e6/time.Since(started).Seconds())
		memory.Ours = append(memory.Ours, over/(1<<20))
	}
	b.Add(rate)
	b.Add(memory)
	return nil
}

// recordLessons uploads the recordings, to a lesson of each student of the first teacher.
func (b *bench) recordLessons(ctx context.Context, ours *process) error {
	store, err := db.Open(ours.spec.URL)
	if err != nil {
		return err
	}
	defer store.Close()
	var owner uuid.UUID
	if err := store.R.QueryRowContext(ctx, `select teacher_id from feedback_profiles where profile_id = $1`,
		ours.Profiles[0][0]).Scan(&owner); err != nil {
		return err
	}
	tx, err := store.W.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var lessons []string
	for _, profile := range ours.Profiles[0] {
		lesson, err := seedLesson(ctx, tx, owner, profile, db.Time{Time: time.Now()})
		if err != nil {
			return err
		}
		lessons = append(lessons, lesson)
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(b.Log, "uploading %d recordings\n", exportedSegments)
	end := make([]byte, exportedSize-beginning)
	upload := func(r *rand.Rand, _ int) net.Buffers {
		path := segmentsPath(lessons[r.IntN(len(lessons))])
		return message("POST", path, ours.Tokens[0], "audio/mpeg", recording(r, end)...)
	}
	return send(side{ours, 202, upload}, connections, exportedSegments/connections)
}

// export downloads a teacher's export and returns its size.
func export(addr, token string) (size int64, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	request := message("GET", "/api/v1/export", token, "")
	if _, err := request.WriteTo(conn); err != nil {
		return 0, err
	}
	in := bufio.NewReaderSize(conn, 256<<10)
	status, _, err := readHead(in)
	if err == nil && status != 200 {
		err = fmt.Errorf("export: status %d", status)
	}
	if err != nil {
		return 0, err
	}
	return io.Copy(io.Discard, httputil.NewChunkedReader(in)) // an error if it is cut
}

// memoryOver returns by how many bytes the anonymous memory of a process exceeds that before do, at
// most. Pages of the database that are mapped are not counted: the kernel may drop them.
func memoryOver(pid int, do func() error) (float64, error) {
	idle, err := harness.Memory(pid, "RssAnon")
	if err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	peak := idle
	for {
		select {
		case err := <-done:
			return peak - idle, err
		case <-time.After(5 * time.Millisecond):
			now, err := harness.Memory(pid, "RssAnon")
			if err != nil {
				return 0, err
			}
			peak = max(peak, now)
		}
	}
}
