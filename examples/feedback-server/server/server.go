// Package server assembles the teaching-feedback service from packages that do not import one
// another. [New] builds it, [Migrate] creates its tables and [Server.Run] serves it.
//
// The function build shows every dependency being made and handed on.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"lessonkit.example/asr"
	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/examples/internal/docsui"
	"lessonkit.example/examples/internal/program"
	"lessonkit.example/examples/internal/webui"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp"
)

// Options configures what does not come from the environment.
type Options struct {
	// Logger receives everything that is logged. If nil, nothing is logged.
	Logger *slog.Logger

	// Version of the program, for /health and the API reference.
	Version string

	// Role is the part of the work that this process does. Defaults to RoleAll.
	Role Role
}

// Role is a part of the service's work. Processes of any roles share one database and the
// recordings.
type Role string

// The roles. A worker serves /health, /readyz and /metrics only.
const (
	RoleAll    Role = "all"
	RoleAPI    Role = "api"    // serves the API
	RoleWorker Role = "worker" // transcribes and deletes audio
)

// ParseRole returns the role with the given name.
func ParseRole(name string) (Role, error) {
	switch r := Role(name); r {
	case RoleAll, RoleAPI, RoleWorker:
		return r, nil
	}
	return "", fmt.Errorf("unknown role %q: must be %s, %s or %s", name, RoleAll, RoleAPI, RoleWorker)
}

// Server is the assembled service.
type Server struct {
	log        *slog.Logger
	drain      time.Duration
	db         *database // nil if none is configured
	handler    http.Handler
	opsAddr    string
	ops        http.Handler // of opsAddr; nil if that is empty
	recognizer asr.Recognizer
	background []task       // need a migrated database
	stopping   *atomic.Bool // true from the start of the drain time
	serving    context.Context
	stop       context.CancelFunc // of serving, after the drain time
	traces     *tracing
}

// task runs until its context is done.
type task func(ctx context.Context) error

// New opens the configured database and builds the service. c is from [ParseConfig]. PostgreSQL
// need not be reachable yet. New starts nothing. The caller closes the server.
func New(ctx context.Context, c Config, o Options) (_ *Server, err error) {
	o.Role = cmp.Or(o.Role, RoleAll)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Role != RoleWorker {
		logSignIn(c, o.Logger)
	}
	traces, err := newTracing(ctx, c, o.Version, o.Logger)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			traces.Close()
		}
	}()
	if c.DatabaseURL == "" {
		o.Logger.Warn("DATABASE_URL is not set: /health works, data endpoints answer 503")
		return build(c, o, nil, traces)
	}
	if err := checkDirectory(c.DatabaseURL); err != nil {
		return nil, err
	}
	db, err := openDatabase(ctx, c.DatabaseURL, traces, o.Logger)
	if err != nil {
		return nil, err
	}
	db.lessons.Reserve = c.AudioReserve
	o.Logger.Info("configured", "role", o.Role, "database", db.name,
		"recordings", cmp.Or(c.AudioStorageURL, c.AudioStorageDir, defaultAudioDir))
	s, err := build(c, o, db, traces)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// build makes every part of the service and connects them. db is nil if none is configured: the
// services then stay nil, and their endpoints answer 503.
func build(c Config, o Options, db *database, traces *tracing) (*Server, error) {
	requestLog := traces.withTraceID(o.Logger) // its lines have the ids of their requests already
	log := withRequestID(requestLog)
	recognizer, err := newRecognizer(c, traces, log)
	if err != nil {
		return nil, err
	}
	measured := newMeasuredRecognizer(traces.recognizer(recognizer, c.ASRProvider), c.ASRProvider)
	stopping := new(atomic.Bool)
	health := &health{config: c, version: o.Version, db: db, recognizer: recognizer, stopping: stopping}
	exchanger, oauthPage, err := newExchanger(c)
	if err != nil {
		return nil, err
	}
	var accounts *auth.Service
	var audio feedback.AudioStore
	var lessons *feedback.Service
	if db != nil {
		accounts, err = auth.New(auth.Config{
			Store: db.accounts, Exchanger: exchanger, AllowDevelopment: c.DevelopmentSignIn(), Logger: log,
		})
		if err != nil {
			return nil, err
		}
		if audio, err = newAudio(c); err != nil {
			return nil, err
		}
		if lessons, err = newFeedback(c, db.lessons, audio, measured, health.speechPaused, traces, log); err != nil {
			return nil, err
		}
		health.accounts, health.audio = accounts, audio
	}
	serving, stop := context.WithCancel(context.Background())
	metrics := newMetrics(health)
	metrics.registry.MustRegister(measured.collectors()...)

	var background []task
	if db != nil && o.Role != RoleWorker {
		background = append(background, accounts.Run)
	}
	if db != nil && o.Role != RoleAPI {
		worker := newWorker(c, db, accounts, lessons, traces, metrics.observeJob, log)
		background = append(background, worker.Run)
	}

	mux := http.NewServeMux()
	api := feedbackhttp.NewAPI(mux, feedbackhttp.APIOptions{Title: title, Version: o.Version, Description: description,
		BasePath: c.BasePath})
	cookie := &authhttp.Cookie{Insecure: c.AppEnv != "production" && isLoopback(c.HTTPAddr)}
	if o.Role != RoleWorker {
		v1 := huma.NewGroup(api, "/api/v1")
		authhttp.Register(v1, authhttp.Config{
			Service: accounts, TrustedProxies: c.TrustedProxies,
			LoginsPerMinute: c.LoginsPerMinute, LoginBurst: c.LoginBurst,
			Erase: eraseData(lessons, db), Cookie: cookie, Devices: true, OAuth: oauthPage,
		})
		feedbackhttp.Register(v1, feedbackhttp.Config{
			Service: lessons, Authenticate: authhttp.Authenticate(accounts),
			MaxRequests: c.LimitRequests, MaxRequestsInAll: c.LimitRequestsInAll,
			MaxStreams: c.LimitStreams, MaxStreamsInAll: c.LimitStreamsInAll,
			Stopping: serving.Done(),
		})
		reference := docsui.Handler(docsui.Config{Title: title, Script: c.ScalarJS, Logger: log})
		mux.Handle("GET /scalar", reference)
		mux.Handle("GET /scalar/", reference)
		page := webui.Handler()
		mux.Handle("GET /{$}", page)
		mux.Handle("GET /page/", page)
	}
	operator := newOperator(c, log)
	registerState(api, health, operator, c.OpsAddr == "")
	documentSignIn(api.OpenAPI(), c.DevelopmentSignIn())
	wrap := feedbackhttp.WrapOptions{
		Logger: requestLog, Observe: metrics.observeRequest, Trace: traces.request(),
		TrustedProxies: c.TrustedProxies, Probes: []string{"GET /health", "GET /readyz", "GET /metrics"},
	}
	registerOperator := func(mux *http.ServeMux, path string) {
		mux.Handle("GET /metrics", metrics.handler())
		if o.Role == RoleWorker || c.OperatorPassword == "" {
			return
		}
		mux.Handle("GET /admin/health", operator.require(http.HandlerFunc(health.page)))
		registerQueue(mux, path, db, operator, log)
	}
	var ops http.Handler
	if c.OpsAddr == "" {
		registerOperator(mux, c.BasePath)
	} else {
		opsMux := http.NewServeMux()
		registerOperator(opsMux, "")
		registerState(feedbackhttp.NewAPI(opsMux, feedbackhttp.APIOptions{Title: title, Version: o.Version}),
			health, operator, true)
		ops = feedbackhttp.Wrap(opsMux, wrap)
	}
	handler := withCookie(cookie, mux)
	if c.DevelopmentSignIn() {
		handler = checkDevelopmentHost(c.DevelopmentHosts, handler)
	}
	return &Server{
		log:        log,
		drain:      c.Drain,
		db:         db,
		handler:    below(c.BasePath, feedbackhttp.Wrap(closeConnections(stopping, handler), wrap)),
		opsAddr:    c.OpsAddr,
		ops:        ops,
		recognizer: recognizer,
		background: background,
		stopping:   stopping,
		serving:    serving,
		stop:       stop,
		traces:     traces,
	}, nil
}

// Migrate brings all tables of the configured database up to date, as the role of
// Config.MigrateDatabaseURL if that is set. Several processes may call it at once.
func Migrate(ctx context.Context, c Config, log *slog.Logger) error {
	address := cmp.Or(c.MigrateDatabaseURL, c.DatabaseURL)
	if address == "" {
		return errors.New("neither MIGRATE_DATABASE_URL nor DATABASE_URL is set")
	}
	db, err := openDatabase(ctx, address, nil, log)
	if err != nil {
		return err
	}
	if err := errors.Join(db.migrate(ctx), db.Close()); err != nil {
		return err
	}
	log.Info("the database is up to date", "database", db.name)
	return nil
}

// Handler returns the handler of all requests, except those to Config.OpsAddr.
func (s *Server) Handler() http.Handler { return s.handler }

// Close exports the last traces and closes the database.
func (s *Server) Close() error {
	s.stop()
	s.traces.Close()
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// shutdownTimeout is how long requests and jobs may continue after the drain time.
const shutdownTimeout = 15 * time.Second

// Run serves on l, and on Config.OpsAddr if that is set, and does the role's background work until
// ctx is done. It then lets requests and jobs finish within the shutdown timeout and returns nil.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	var opsListener net.Listener
	if s.ops != nil {
		var err error
		if opsListener, err = net.Listen("tcp", s.opsAddr); err != nil {
			return errors.Join(fmt.Errorf("OPS_ADDR: %w", err), l.Close())
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	if monitored, ok := s.recognizer.(interface{ Run(context.Context) error }); ok {
		group.Go(func() error { return monitored.Run(ctx) })
	}
	group.Go(func() error { return s.runBackground(ctx) })
	context.AfterFunc(ctx, s.drainAndStop)
	group.Go(func() error { return s.serve(s.serving, s.handler, l) })
	if opsListener != nil {
		group.Go(func() error { return s.serve(s.serving, s.ops, opsListener) })
	}
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (s *Server) serve(ctx context.Context, handler http.Handler, l net.Listener) error {
	server := program.NewServer(handler)
	server.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)
	if err := program.Serve(ctx, server, l, shutdownTimeout); err != nil {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	return nil
}

// runBackground runs the tasks that need the database, once it is reachable and migrated, which may
// be after the start.
func (s *Server) runBackground(ctx context.Context) error {
	if len(s.background) == 0 || !s.awaitMigration(ctx) {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range s.background {
		group.Go(func() error { return run(ctx) })
	}
	return group.Wait()
}

// awaitMigration waits until the tables are up to date. It returns false if ctx ends first.
func (s *Server) awaitMigration(ctx context.Context) bool {
	told, toldAt := "", time.Time{}
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		ok, err := s.db.migrated(ctx)
		if ok {
			if told != "" {
				s.log.Info("the database is ready", "database", s.db.name)
			}
			return true
		}
		message := "waiting for the database, which lacks tables of this version: run `migrate`"
		attrs := []any{"database", s.db.name}
		if err != nil {
			message, attrs = "waiting for the database", append(attrs, "error", err)
		}
		if (message != told || time.Since(toldAt) > time.Minute) && ctx.Err() == nil {
			told, toldAt = message, time.Now() // again, because the reason may be another one by now
			s.log.Warn(message, attrs...)
		}
		if !program.Pause(ctx, pause) {
			return false
		}
	}
}

// drainAndStop stops serving after the drain time, in which load balancers see at /readyz that the
// server is about to stop.
func (s *Server) drainAndStop() {
	s.log.Info("stopping", "drain_seconds", s.drain.Seconds())
	s.stopping.Store(true)
	time.Sleep(s.drain)
	s.stop()
}
