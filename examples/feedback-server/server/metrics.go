package server

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"lessonkit.example/feedback"
	"lessonkit.example/jobqueue"
)

type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	jobs     *prometheus.HistogramVec
	waits    *prometheus.HistogramVec
}

func newMetrics(h *health) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Help: "Duration of requests by route and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60},
		}, []string{"method", "route", "status"}),
		jobs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "job_duration_seconds", Help: "Duration of attempts of background jobs by kind and outcome.",
			Buckets: []float64{.01, .1, 1, 5, 15, 60, 300, 900, 3600},
		}, []string{"kind", "outcome"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "job_wait_seconds", Help: "Time that background jobs were due before their attempt started.",
			Buckets: []float64{.01, .1, 1, 10, 60, 600, 3600, 86400},
		}, []string{"kind"}),
	}
	// A series that begins with its first failure shows no increase.
	for _, kind := range []feedback.TaskKind{
		feedback.TaskTranscribe, feedback.TaskDeleteAudio, feedback.TaskEraseTeacher,
		feedback.TaskLearn, sweepKind, retentionKind,
	} {
		for _, outcome := range outcomes {
			m.jobs.WithLabelValues(string(kind), string(outcome))
		}
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.jobs, m.waits, stateCollector{h},
	)
	return m
}

// handler serves the metrics in the text format of Prometheus.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// methods are the values of the label method. A client may send any word as a method.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions,
}

// observeRequest records a request. The route is the pattern of the mux, not the path, so the
// number of series is bounded.
func (m *metrics) observeRequest(method, route string, status int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *metrics) observeJob(e jobqueue.Event) {
	if e.Type == jobqueue.EventClaimed {
		m.waits.WithLabelValues(e.Job.Kind).Observe(e.Wait.Seconds())
		return
	}
	m.jobs.WithLabelValues(e.Job.Kind, string(e.Type)).Observe(e.Took.Seconds())
}

// outcomes are the values of the label outcome.
var outcomes = []jobqueue.EventType{
	jobqueue.EventSucceeded, jobqueue.EventRetried, jobqueue.EventFailed, jobqueue.EventSnoozed,
	jobqueue.EventCancelled, jobqueue.EventLost,
}

// stateCollector reads the state of database, queue and recognizer at each scrape.
type stateCollector struct{ health *health }

var (
	speechAvailable = prometheus.NewDesc("speech_available",
		"1 while the recogniser can take jobs.", []string{"provider"}, nil)
	databaseReady = prometheus.NewDesc("database_ready",
		"1 while the database answers and is migrated.", nil, nil)
	signInRefused = prometheus.NewDesc("sign_in_refused",
		"1 if the platform or the OAuth 2 server refused this server's credentials at the last sign-in.", nil, nil)
	queueJobs = prometheus.NewDesc("jobqueue_jobs",
		"Jobs of the database by queue and state, each number up to a bound. "+
			"Every process reports the same: aggregate by max, not by sum.", []string{"queue", "state"}, nil)
	storageAvailable = prometheus.NewDesc("storage_available",
		"1 while recordings and texts can be stored.", nil, nil)
	storageFree = prometheus.NewDesc("audio_storage_free_bytes",
		"Free space of the file system of the recordings.", nil, nil)
	storageTotal = prometheus.NewDesc("audio_storage_total_bytes",
		"Size of the file system of the recordings.", nil, nil)
	storageReserve = prometheus.NewDesc("audio_storage_reserve_bytes",
		"Free space below which uploads are refused.", nil, nil)
	queueAge = prometheus.NewDesc("jobqueue_counts_age_seconds",
		"Time since the jobs were counted: the other metrics of the queue are as old.", nil, nil)
	queuePaused = prometheus.NewDesc("jobqueue_paused",
		"1 while the jobs of the queue wait until an operator resumes it.", []string{"queue"}, nil)
	queueOldest = prometheus.NewDesc("jobqueue_oldest_seconds",
		"Time that the oldest waiting job of the database has been due. "+
			"Every process reports the same.", []string{"queue"}, nil)
)

// Describe implements prometheus.Collector. Without descriptions only what is collected is checked.
func (stateCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. If the database is unavailable, the metrics of the queue
// get old.
func (c stateCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	h := c.health
	gauge(speechAvailable, oneIf(h.recognizer.Status(ctx).Available), h.config.ASRProvider)
	if h.db == nil {
		gauge(databaseReady, 0)
		return
	}
	state := h.state(ctx)
	gauge(databaseReady, oneIf(state.migrated))
	gauge(storageAvailable, oneIf(state.storage))
	gauge(signInRefused, oneIf(h.signInRefused()))
	if space := state.space; space.Total > 0 {
		gauge(storageFree, float64(space.Free))
		gauge(storageTotal, float64(space.Total))
		gauge(storageReserve, float64(space.Reserve))
	}
	stats, counted := h.jobs(ctx)
	if counted.IsZero() {
		return
	}
	gauge(queueAge, time.Since(counted).Seconds())
	for _, q := range stats.Queues {
		gauge(queueJobs, float64(q.Waiting), q.Queue, "waiting")
		gauge(queueJobs, float64(q.Scheduled), q.Queue, "scheduled")
		gauge(queueJobs, float64(q.Running), q.Queue, "running")
		gauge(queueJobs, float64(q.Failed), q.Queue, "failed")
		gauge(queuePaused, oneIf(isPaused(q)), q.Queue)
		gauge(queueOldest, q.Oldest.Seconds(), q.Queue)
	}
}

func oneIf(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
