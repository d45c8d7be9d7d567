// Package server puts the teaching-feedback service together: the
// packages that know nothing of one another meet here, under one
// configuration, on one database.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/asr"
	"lessonkit.example/auth"
	authstore "lessonkit.example/auth/sqlstore"
	"lessonkit.example/feedback"
	feedbackstore "lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/httpapi"
	"lessonkit.example/internal/sqldb"
	"lessonkit.example/jobqueue"
)

// Options are what a program tells the server besides its configuration.
type Options struct {
	// Logger gets everything. If nil, nothing is logged.
	Logger *slog.Logger

	// Version of the program, for /health and the reference.
	Version string

	// Role is which part of the work this process does. Defaults to RoleAll.
	Role Role
}

// Role is a part of the server's work. Processes of any roles share one
// database and one audio directory.
type Role string

// The roles.
const (
	RoleAll    Role = "all"
	RoleAPI    Role = "api"    // serves the interface
	RoleWorker Role = "worker" // transcribes and cleans up; serves its state only
)

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	switch r := Role(name); r {
	case RoleAll, RoleAPI, RoleWorker:
		return r, nil
	}
	return "", fmt.Errorf("unknown role %q: want %s, %s or %s", name, RoleAll, RoleAPI, RoleWorker)
}

// Server is the service, ready to run. Without a database it has no stores, no
// queue and no services.
type Server struct {
	config  Config
	log     *slog.Logger
	version string
	role    Role

	db       *sqldb.DB // nil: none is configured
	authDB   *authstore.Store
	bookDB   *feedbackstore.Store
	queue    queue
	client   *jobqueue.Client
	speech   recogniser
	auth     *auth.Service
	feedback *feedback.Service
	health   *health
	metrics  *metrics
	stopping atomic.Bool // asked to stop, and still serving
}

// New opens what the configuration names and builds the service. It contacts
// nobody and starts nothing. Close the server in the end.
func New(ctx context.Context, c Config, o Options) (*Server, error) {
	s := &Server{config: c, log: o.Logger, version: o.Version, role: cmp.Or(o.Role, RoleAll)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) build(ctx context.Context) (err error) {
	if s.speech, err = newRecogniser(s.config, s.log); err != nil {
		return err
	}
	s.health = newHealth(s)
	s.metrics = newMetrics(s)
	if s.config.DatabaseURL == "" {
		s.log.Warn("DATABASE_URL is not set: /health answers, every data endpoint says 503")
		return nil
	}
	if s.db, err = sqldb.Open(ctx, s.config.DatabaseURL); err != nil {
		return err
	}
	s.queue = newQueue(s.db)
	s.client = jobqueue.NewClient(s.queue)
	if err := s.buildAuth(); err != nil {
		return err
	}
	return s.buildFeedback()
}

// Close closes the database.
func (s *Server) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// ErrNoDatabase is returned where a database is needed and none is configured.
var ErrNoDatabase = errors.New("DATABASE_URL is not set")

// Migrate brings all tables up to date. Several may do so at once.
func (s *Server) Migrate(ctx context.Context) error {
	if s.db == nil {
		return ErrNoDatabase
	}
	for _, m := range []func(context.Context) error{s.authDB.Migrate, s.bookDB.Migrate, s.queue.Migrate} {
		if err := m(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Migrated tells whether all tables are up to date.
func (s *Server) Migrated(ctx context.Context) (bool, error) {
	if s.db == nil {
		return false, ErrNoDatabase
	}
	for _, m := range []func(context.Context) (bool, error){s.authDB.Migrated, s.bookDB.Migrated, s.queue.Migrated} {
		if ok, err := m(ctx); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// stopGrace is how long requests and jobs may go on after a stop was asked for.
const stopGrace = 15 * time.Second

// Run does the role's work and serves on l until ctx ends; it then lets
// requests and jobs finish for a while and returns nil.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	// What is live here is so little that the garbage collector would run many
	// times a second, at a tenth of the processor. With these, which are never
	// touched and so take up no memory, it waits for some tens of megabytes.
	defer runtime.KeepAlive(make([]byte, 32<<20))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.speech.Run(ctx) })
	if s.db != nil {
		group.Go(func() error { return s.background(ctx) })
	}
	group.Go(func() error {
		server := httpapi.NewServer(s.Handler())
		server.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)
		if err := httpapi.Serve(s.drained(ctx), server, l, stopGrace); err != nil {
			return fmt.Errorf("serve HTTP: %w", err)
		}
		return nil
	})
	err := group.Wait()
	if errors.Is(err, context.Canceled) || errors.Is(err, http.ErrServerClosed) {
		return nil // stopped, as asked
	}
	return err
}

// background does the role's work that no request waits for. It begins when
// the database is there and migrated, which may be after the start.
func (s *Server) background(ctx context.Context) error {
	if !s.awaitMigration(ctx) {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	if s.role != RoleWorker {
		group.Go(func() error { return s.auth.Run(ctx) })
	}
	if s.role != RoleAPI {
		group.Go(func() error { return s.feedback.Run(ctx) })
		group.Go(func() error { return s.work(ctx) })
	}
	return group.Wait()
}

func (s *Server) awaitMigration(ctx context.Context) bool {
	told := false
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		ok, err := s.Migrated(ctx)
		if ok {
			return true
		}
		if !told && ctx.Err() == nil {
			s.log.Warn("the database is not ready, waiting: is it running, and was `migrate` run?", "error", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

// drained returns a context that ends later than ctx, when load balancers have
// had time to see that the server is not ready any more.
func (s *Server) drained(ctx context.Context) context.Context {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		defer stop()
		s.stopping.Store(true)
		time.Sleep(s.config.Drain())
	})
	return serving
}

// recogniser is an [asr.Recognizer] that may have work in the background.
type recogniser interface {
	asr.Recognizer
	Run(ctx context.Context) error
}
