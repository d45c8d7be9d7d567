// Package demo runs the feedback service end to end on this machine: it starts the server on its
// own database and, if one is installed, a speech recognizer, and then acts as a teacher's phone
// over HTTP.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/examples/feedback-server/server"
)

// Options configures [Run].
type Options struct {
	// Dir is the directory of the database, the audio and the server's log. Run creates it.
	Dir string

	// Once ends the demo when the record is saved. Otherwise the server runs until the context is
	// done.
	Once bool

	// Audio lists files with recordings, one segment each, in place of the spoken samples.
	Audio []string

	// Environment configures the server. The demo sets database, audio directory and sign-in
	// itself.
	Environment map[string]string

	Stdout io.Writer // receives the record
	Stderr io.Writer // receives the progress

	// Version of the program.
	Version string
}

// demo is one run.
type demo struct {
	Options
	url     string // of the server
	missing error  // why there is no recognizer, or nil
	profile string // of the student
	started time.Time
}

// Run runs the demo. It returns nil when the record is saved and, without Once, the context is
// done.
func Run(ctx context.Context, o Options) error {
	d := &demo{Options: o, started: time.Now()}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	logFile, err := os.OpenFile(filepath.Join(o.Dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logFile.Close()
	log := slog.New(slog.NewTextHandler(logFile, nil))

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	server, listener, err := d.server(ctx, d.environment(ctx, group, log), log)
	if err != nil {
		return err
	}
	d.url = "http://" + listener.Addr().String()
	d.printf("Serving at %s, data and log in %s.", d.url, o.Dir)
	group.Go(func() error { return server.Run(ctx, listener) })
	group.Go(func() error {
		err := d.runLessons(ctx)
		if err != nil && (d.Once || !errors.Is(err, errNoRecognizer)) {
			return err
		}
		if d.Once {
			cancel()
			return nil
		}
		if err != nil {
			d.printf("%v.", err)
		}
		d.printf("Still serving. API reference: %s/scalar   State: %s/health   Stop with Ctrl-C.", d.url, d.url)
		page := d.url + "/#sign-in=" + teacher + "/student/" + d.profile
		d.printf("The teacher's page: %s", page)
		openBrowser(ctx, page)
		return nil
	})
	err = group.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil // the caller or -once stopped it
	}
	return errors.Join(err, server.Close())
}

// environment returns the server's configuration: the user's, changed by the demo. It starts a
// recognizer unless the user configured one.
func (d *demo) environment(ctx context.Context, group *errgroup.Group, log *slog.Logger) map[string]string {
	environment := map[string]string{"ASR_WORKER_CONCURRENCY": strconv.Itoa(min(2, runtime.NumCPU()))}
	maps.Copy(environment, d.Environment)
	environment["DATABASE_URL"] = "sqlite:" + filepath.Join(d.Dir, "lessonkit.db")
	environment["AUDIO_STORAGE_DIR"] = filepath.Join(d.Dir, "audio")
	// A real service may be configured here, and run. No real teachers sign in to the demo, and the
	// development sign-in is refused beside theirs.
	for _, prefix := range []string{
		"AUDIO_STORAGE_URL", "MIGRATE_DATABASE_URL", "MINIAPP_", "OAUTH_", "OPS_ADDR", "OTEL_",
	} {
		maps.DeleteFunc(environment, func(name, _ string) bool { return strings.HasPrefix(name, prefix) })
	}
	environment["ALLOW_DEVELOPMENT_USER_HEADER"] = "true"
	environment["APP_ENV"] = "development"
	if environment["LOCAL_ASR_URL"] == "" && environment["ASR_PROVIDER"] != "cloud" {
		environment["LOCAL_ASR_URL"], d.missing = startRecognizer(ctx, group, log)
	}
	return environment
}

// server returns the server on a migrated database, and a listener at the configured address. If
// the default address is in use, the listener has another port.
func (d *demo) server(
	ctx context.Context, environment map[string]string, log *slog.Logger,
) (*server.Server, net.Listener, error) {
	config, err := server.ParseConfig(environment)
	if err != nil {
		return nil, nil, err
	}
	srv, err := server.New(ctx, config, server.Options{Logger: log, Version: d.Version})
	if err != nil {
		return nil, nil, err
	}
	if err := server.Migrate(ctx, config, log); err != nil {
		return nil, nil, errors.Join(err, srv.Close())
	}
	listener, err := net.Listen("tcp", config.HTTPAddr)
	if err != nil && d.Environment["HTTP_ADDR"] == "" {
		d.printf("%s is in use; choosing another port.", config.HTTPAddr)
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, nil, errors.Join(err, srv.Close())
	}
	return srv, listener, nil
}

func (d *demo) printf(format string, args ...any) { fmt.Fprintf(d.Stderr, format+"\n", args...) }
