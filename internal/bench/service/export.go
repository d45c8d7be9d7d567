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
func (b *bench) export(ctx context.Context) {
	ours := b.start(spec{Side: "ours"})
	b.recordLessons(ctx, ours)
	// What the first export allocates once is not part of the figure.
	export(ours.spec.Addr, ours.Tokens[1])
	rate := harness.Row{Name: "export of 10 000 segments", Unit: "MB/s", Must: 100}
	memory := harness.Row{Name: "memory over idle, such an export", Unit: "MiB", Better: harness.Lower, Must: 32}
	for range b.Pairs {
		var size int64
		started := time.Now()
		over := memoryOver(ours.Pid(), func() { size = export(ours.spec.Addr, ours.Tokens[0]) })
		if size < exportedSegments*exportedSize {
			harness.Check(fmt.Errorf("an export of %d recordings has only %d bytes", exportedSegments, size))
		}
		rate.Ours = append(rate.Ours, float64(size)/1e6/time.Since(started).Seconds())
		memory.Ours = append(memory.Ours, over/(1<<20))
	}
	b.Add(rate)
	b.Add(memory)
}

// recordLessons uploads the recordings, to a lesson of each student of the first teacher but the
// first, who has one.
func (b *bench) recordLessons(ctx context.Context, ours *process) {
	store := harness.Must(db.Open(ours.spec.URL))
	defer store.Close()
	var owner uuid.UUID
	harness.Check(store.R.QueryRowContext(ctx, `select teacher_id from feedback_profiles where profile_id = $1`,
		ours.Profiles[0][0]).Scan(&owner))
	tx := harness.Must(store.W.BeginTx(ctx, nil))
	defer tx.Rollback()
	var lessons []string
	for _, profile := range ours.Profiles[0][1:] {
		lessons = append(lessons, seedLesson(ctx, tx, owner, profile, db.Time(time.Now())))
	}
	harness.Check(tx.Commit())
	fmt.Fprintf(b.Log, "uploading %d recordings\n", exportedSegments)
	end := make([]byte, exportedSize-beginning)
	upload := func(r *rand.Rand, _ int) net.Buffers {
		path := segmentsPath(lessons[r.IntN(len(lessons))])
		return message("POST", path, ours.Tokens[0], "audio/mpeg", recording(r, end)...)
	}
	send(side{ours, 202, upload}, connections, exportedSegments/connections)
}

// export downloads a teacher's export and returns its size.
func export(addr, token string) (size int64) {
	conn := harness.Must(net.Dial("tcp", addr))
	defer conn.Close()
	request := message("GET", "/api/v1/export", token, "")
	harness.Must(request.WriteTo(conn))
	in := bufio.NewReaderSize(conn, 256<<10)
	status, _, err := readHead(in)
	if err == nil && status != 200 {
		err = fmt.Errorf("export: status %d", status)
	}
	harness.Check(err)
	return harness.Must(io.Copy(io.Discard, httputil.NewChunkedReader(in))) // an error if it is cut
}

// memoryOver returns by how many bytes the anonymous memory of a process exceeds that before do, at
// most. Pages of the database that are mapped are not counted: the kernel may drop them.
func memoryOver(pid int, do func()) float64 {
	idle := harness.Memory(pid, "RssAnon")
	done := make(chan error, 1)
	go func() { done <- harness.Try(do) }()
	peak := idle
	for {
		select {
		case err := <-done:
			harness.Check(err)
			return peak - idle
		case <-time.After(5 * time.Millisecond):
			peak = max(peak, harness.Memory(pid, "RssAnon"))
		}
	}
}
