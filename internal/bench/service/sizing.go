package service

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/pgtest"
)

// The load of sizing.
const (
	streamCount = 1000
	uploadCount = 400
	listed      = 50
	idle        = 10 * time.Second
)

// serveRole runs the real server in one role, as a process of its own.
func serveRole(ctx context.Context, s spec) {
	serve(ctx, s, server.Role(s.Side), map[string]string{
		"AUDIO_STORAGE_DIR": s.Audio, "LOCAL_ASR_URL": s.Recogniser, "LOCAL_ASR_CONVERT": "false",
		"ASR_WORKER_CONCURRENCY": "4", "ALLOW_DEVELOPMENT_USER_HEADER": "true",
	}, func() world { return world{} })
}

// installation is the service with one process of each role, and a PostgreSQL that flushes to disk.
// Its recogniser answers at once and is part of this process.
type installation struct {
	*bench
	api, worker          *process
	postmaster           int
	db                   *pgx.Conn
	uploading, following []*teacher // following follow their session
	recordings           int
	idle                 [3]float64 // milliseconds a second of API, worker and PostgreSQL
}

type teacher struct {
	feedbackclient.Client
	name, profile, session, lesson string
	uploaded                       int
}

// sizing measures what planning needs: the processor time of each part of the service for a
// recording, a list and a stream of events, the space they take, and uploads beside many streams.
func (b *bench) sizing(ctx context.Context) {
	in := b.install(ctx)
	in.measure("idle, a second", idle.Seconds(), func() { time.Sleep(idle) })
	before := in.size(ctx)
	in.measure("recording of 1.6 kB with its text", uploadCount, func() { in.upload(ctx, 1600) })
	row := harness.Row{Name: "database, a recording", Unit: "bytes"}
	row.Ours = []float64{(in.size(ctx) - before) / float64(in.recordings)}
	in.Add(row)
	in.measure("recording of 1 MiB with its text", uploadCount, func() { in.upload(ctx, 1<<20) })
	each(in.uploading[:8], func(t *teacher) {
		for range listed {
			harness.Must(t.SaveRecord(ctx, t.profile, "", "2026-05-31", content(t.uploaded)))
		}
	})
	in.measure("list of 50 records", uploadCount, func() {
		for range uploadCount / 8 {
			each(in.uploading[:8], func(t *teacher) {
				path := fmt.Sprintf("/api/v1/feedback-records?limit=%d", listed)
				harness.Check(t.Call(ctx, http.MethodGet, path, nil, new(json.RawMessage)))
			})
		}
	})
	in.streams(ctx)
}

func (b *bench) install(ctx context.Context) *installation {
	recogniser := httptest.NewServer(fleet.Recognizer(nil))
	b.TB.Cleanup(recogniser.Close)
	pg := pgtest.Start(&b.TB, pgtest.Options{Durable: true})
	s := spec{URL: pg.URL(), Audio: b.TB.TempDir(), Recogniser: recogniser.URL}
	in := &installation{bench: b, db: harness.Must(pgx.Connect(ctx, pg.URL()))}
	b.TB.Cleanup(func() { _ = in.db.Close(context.Background()) })
	const pidSQL = `select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int`
	harness.Check(in.db.QueryRow(ctx, pidSQL).Scan(&in.postmaster))
	s.Side = string(server.RoleAPI)
	in.api = b.start(s)
	s.Side = string(server.RoleWorker)
	in.worker = b.start(s)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	for i := range uploadCount + streamCount {
		t := &teacher{name: fmt.Sprint("teacher-", i)}
		t.Client = feedbackclient.Development("http://"+in.api.spec.Addr, t.name)
		t.HTTP = client
		in.uploading = append(in.uploading, t)
	}
	each(in.uploading, func(t *teacher) {
		t.profile = harness.Must(t.EnsureProfile(ctx, "Ming")).ID
		t.session = harness.Must(t.OpenSession(ctx, t.profile)).ID
		t.lesson = harness.Must(t.StartLesson(ctx, t.session)).ID
	})
	in.uploading, in.following = in.uploading[:uploadCount], in.uploading[uploadCount:]
	return in
}

// each calls f for all teachers, four at a time.
func each(teachers []*teacher, f func(t *teacher)) {
	var group errgroup.Group
	group.SetLimit(4)
	for _, t := range teachers {
		group.Go(func() error { return harness.Try(func() { f(t) }) })
	}
	harness.Check(group.Wait())
}

// times returns the processor time in milliseconds that API, worker and PostgreSQL have used.
func (in *installation) times() (t [3]float64) {
	for i, pid := range []int{in.api.Pid(), in.worker.Pid(), in.postmaster} {
		t[i] = harness.TreeTime(pid).Seconds() * 1000
	}
	return t
}

// measure adds rows with the processor time of one of n units, in addition to that of an idle
// service once that is known.
func (in *installation) measure(name string, n float64, do func()) {
	rows := [3]harness.Row{}
	for i, part := range []string{"API", "worker", "PostgreSQL"} {
		rows[i] = harness.Row{Name: name + ": " + part, Unit: "ms"}
	}
	for range in.Pairs {
		for i, cost := range in.cost(n, do) {
			rows[i].Ours = append(rows[i].Ours, cost)
		}
	}
	for i, row := range rows {
		in.Add(row)
		if in.idle[2] == 0 && i == 2 {
			in.idle = [3]float64{harness.Median(rows[0].Ours), harness.Median(rows[1].Ours), harness.Median(row.Ours)}
		}
	}
}

func (in *installation) cost(n float64, do func()) (cost [3]float64) {
	before, began := in.times(), time.Now()
	do()
	after := in.times()
	for i := range cost {
		cost[i] = (after[i] - before[i] - in.idle[i]*time.Since(began).Seconds()) / n
	}
	return cost
}

// upload uploads a recording of each teacher, waits for the texts, and returns how long each upload
// took, in milliseconds.
func (in *installation) upload(ctx context.Context, size int) []float64 {
	took := make(chan float64, len(in.uploading))
	each(in.uploading, func(t *teacher) {
		audio := make([]byte, size)
		copy(audio, "\xff\xfb\x90\x64"+rand.Text())
		began := time.Now()
		harness.Must(t.Upload(ctx, t.lesson, t.uploaded, "a.mp3", audio))
		took <- time.Since(began).Seconds() * 1000
		t.uploaded++
	})
	close(took)
	in.recordings += len(in.uploading)
	for waiting := true; waiting; time.Sleep(100 * time.Millisecond) {
		const sql = `select exists (select from feedback_segments where state <> 'transcribed')`
		harness.Check(in.db.QueryRow(ctx, sql).Scan(&waiting))
	}
	return slices.Sorted(func(yield func(float64) bool) {
		for t := range took {
			if !yield(t) {
				return
			}
		}
	})
}

func (in *installation) size(ctx context.Context) (bytes float64) {
	harness.Check(in.db.QueryRow(ctx, "select pg_database_size(current_database())").Scan(&bytes))
	return bytes
}

// streams compares uploads beside idle streams with those without, and measures the streams.
func (in *installation) streams(ctx context.Context) {
	name := fmt.Sprintf("of an upload beside %d idle streams", streamCount)
	median := harness.Row{Name: "median " + name, Unit: "ms", PeerName: "none", Better: harness.Lower, Must: 1.3}
	p99 := harness.Row{Name: "p99 " + name, Unit: "ms", PeerName: "none", Better: harness.Lower, Must: 1.3}
	api := harness.Row{Name: "idle stream, a second: API", Unit: "µs", Better: harness.Lower, Must: 60}
	postgres := harness.Row{Name: "idle stream, a second: PostgreSQL", Unit: "µs", Better: harness.Lower, Must: 60}
	memory := harness.Row{Name: "memory of an idle stream", Unit: "kB"}
	last := uploadCount - 1
	for range in.Pairs {
		without := in.upload(ctx, 1600)
		before := harness.Memory(in.api.Pid(), "VmRSS")
		stop := in.follow()
		grown := harness.Memory(in.api.Pid(), "VmRSS") - before
		if len(memory.Ours) == 0 { // later, memory of the streams before is free
			memory.Ours = []float64{grown / streamCount / 1000}
		}
		cost := in.cost(streamCount*idle.Seconds()/1000, func() { time.Sleep(idle) })
		api.Ours, postgres.Ours = append(api.Ours, cost[0]), append(postgres.Ours, cost[2])
		with := in.upload(ctx, 1600)
		stop()
		in.AddPair(&median, with[last/2], without[last/2])
		in.AddPair(&p99, with[last*99/100], without[last*99/100])
	}
	for _, row := range []harness.Row{median, p99, api, postgres, memory} {
		in.Add(row)
	}
}

// follow opens the streams, whose events nobody reads.
func (in *installation) follow() (stop func()) {
	streams := make(chan net.Conn, len(in.following))
	each(in.following, func(t *teacher) {
		conn := harness.Must(net.Dial("tcp", in.api.spec.Addr))
		streams <- conn
		harness.Must(fmt.Fprintf(conn, "GET /api/v1/feedback-sessions/%s/events HTTP/1.1\r\nHost: %s\r\n"+
			"X-Development-User: %s\r\n\r\n", t.session, in.api.spec.Addr, t.name))
		if status, _, err := readHead(bufio.NewReader(conn)); err != nil || status != http.StatusOK {
			harness.Check(fmt.Errorf("stream: status %d: %w", status, err))
		}
	})
	close(streams)
	return func() {
		for conn := range streams {
			_ = conn.Close()
		}
	}
}
