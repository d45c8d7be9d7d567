package service

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	authstore "lessonkit.example/auth/sqlstore"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbackhttp"
	feedbackstore "lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/db"
	"lessonkit.example/internal/httpapi"
)

// tracing compares a read by the server, whose tracing is off, with one by the same packages wired
// without any code for tracing. Both log and count the request. What else the server adds, such as
// more routes and refusing requests while it stops, counts against it. Without a network, the share
// is largest.
func (b *bench) tracing(ctx context.Context) {
	dir := b.TB.TempDir()
	url, audioDir := "sqlite:"+filepath.Join(dir, "feedback.db"), filepath.Join(dir, "audio")
	config := harness.Must(server.ParseConfig(map[string]string{"DATABASE_URL": url, "AUDIO_STORAGE_DIR": audioDir}))
	harness.Check(server.Migrate(ctx, config, slog.New(slog.DiscardHandler)))
	w := seedOurs(ctx, url)
	row := harness.Row{Name: "read one without a network, tracing off", Unit: "µs", PeerName: "no tracing code",
		Better: harness.Lower, Must: 1.01}
	for range b.Pairs {
		values := readPair(ctx, w, config)
		b.AddPair(&row, values[0], values[1])
	}
	b.Add(row)
}

// readPair returns the times of readTimes of the server and of one without tracing. It opens both,
// because where one lies in memory makes a difference of a percent.
func readPair(ctx context.Context, w world, c server.Config) (medians [2]float64) {
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	ours := harness.Must(server.New(ctx, c, server.Options{Role: server.RoleAPI, Logger: log}))
	defer ours.Close()
	opened := harness.Must(db.Open(c.DatabaseURL))
	defer opened.Close()
	return readTimes(w, ours.Handler(), untraced(opened, c.AudioStorageDir, log))
}

// untraced wires a service without tracing.
func untraced(opened *db.DB, audioDir string, log *slog.Logger) http.Handler {
	accounts := harness.Must(auth.New(auth.Config{Store: authstore.NewSQLite(opened.W, opened.R), Logger: log}))
	audio := harness.Must(audiodir.New(audioDir))
	store := feedbackstore.NewSQLite(opened.W, opened.R, nil)
	lessons := harness.Must(feedback.New(feedback.Config{Store: store, Audio: audio}))
	mux := http.NewServeMux()
	api := httpapi.New(mux, httpapi.Options{Title: "Lessons", Version: "1"})
	feedbackhttp.Register(huma.NewGroup(api, "/api/v1"), feedbackhttp.Config{
		Service: lessons, Authenticate: authhttp.Authenticate(accounts),
	})
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "requests"},
		[]string{"method", "route", "status"})
	return httpapi.Wrap(mux, httpapi.WrapOptions{
		Logger: log,
		Observe: func(method, route string, status int, took time.Duration) {
			requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
		},
	})
}

// readTimes returns the median time of a read, in microseconds, by each of two handlers. They take
// turns of less than a millisecond, so that other work on the machine slows both. Which goes first
// is random: garbage collections come at regular intervals, and would slow the same side.
func readTimes(w world, handlers ...http.Handler) (medians [2]float64) {
	const turns, reads = 4000, 10
	var times [2][]float64
	r := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	first := 0
	for turn := range 2 * turns {
		if turn%2 == 0 {
			first = r.IntN(2)
		}
		side := (first + turn) % 2
		requests := make([]*http.Request, reads)
		for i := range requests {
			token, profile := w.any(r)
			requests[i] = httptest.NewRequest(http.MethodGet, profilePath(profile), nil)
			requests[i].Header.Set("Authorization", "Bearer "+token)
		}
		started := time.Now()
		for _, request := range requests {
			answer := httptest.NewRecorder()
			if handlers[side].ServeHTTP(answer, request); answer.Code != http.StatusOK {
				harness.Check(fmt.Errorf("read one: status %d: %s", answer.Code, answer.Body))
			}
		}
		times[side] = append(times[side], float64(time.Since(started).Nanoseconds())/1000/reads)
	}
	for side := range times {
		slices.Sort(times[side])
		medians[side] = harness.Median(times[side])
	}
	return medians
}
