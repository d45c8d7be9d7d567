// Package demo runs the feedback service's main job end to end on this
// machine: it starts the server on a database of its own, starts a speech
// recogniser where there is one, and then does over HTTP what a teacher's
// phone does.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/examples/feedback-server/server"
)

// Options of [Run].
type Options struct {
	// Dir holds the database, the audio and the server's log. It is made when
	// it does not exist.
	Dir string

	// Once ends the demo when the record is saved. Otherwise the server goes
	// on until the context ends.
	Once bool

	// Audio are the user's own recordings, one segment each, in place of the
	// spoken samples.
	Audio []string

	// Environment configures the server, apart from what the demo sets itself
	// (database, audio directory, sign-in).
	Environment map[string]string

	// Stdout gets the record, and with Stderr what is going on.
	Stdout, Stderr io.Writer

	// Version of the program.
	Version string
}

// demo is a run.
type demo struct {
	Options
	base       string      // the server's address
	recogniser *recogniser // nil: somebody else's, by LOCAL_ASR_URL
	started    time.Time
}

// Run runs the demo. It returns nil when the record is saved and, without
// Once, the context has ended.
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
	environment, err := d.environment(ctx, group, log)
	if err != nil {
		return err
	}
	server, listener, err := d.server(ctx, environment, log)
	if err != nil {
		return err
	}
	d.base = "http://" + listener.Addr().String()
	d.say("Serving at %s, data and log in %s.", d.base, o.Dir)
	group.Go(func() error { return server.Run(ctx, listener) })
	group.Go(func() error {
		if err := d.runLessons(ctx); err != nil {
			return err
		}
		if d.Once {
			cancel()
			return nil
		}
		d.say("Still serving. The interface to try out: %s/scalar   State: %s/health   Stop with Ctrl-C.", d.base, d.base)
		return nil
	})
	err = group.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil // stopped, as asked
	}
	return errors.Join(err, server.Close())
}

// environment is the server's configuration: the user's, over it the demo's
// own, and a recogniser of ours unless the user has one.
func (d *demo) environment(ctx context.Context, group *errgroup.Group, log *slog.Logger) (map[string]string, error) {
	environment := map[string]string{"ASR_WORKER_CONCURRENCY": strconv.Itoa(min(2, runtime.NumCPU()))}
	for name, value := range d.Environment {
		environment[name] = value
	}
	environment["DATABASE_URL"] = "sqlite:" + filepath.Join(d.Dir, "lessonkit.db")
	environment["AUDIO_STORAGE_DIR"] = filepath.Join(d.Dir, "audio")
	environment["ALLOW_DEVELOPMENT_USER_HEADER"] = "true"
	environment["APP_ENV"] = "development"

	if environment["LOCAL_ASR_URL"] == "" && environment["ASR_PROVIDER"] != "cloud" {
		var err error
		if d.recogniser, err = startRecogniser(ctx, group, log); err != nil {
			return nil, err
		}
		environment["LOCAL_ASR_URL"] = d.recogniser.url
	}
	return environment, nil
}

// server builds the server on a migrated database, and a listener: at the
// configured address, or at any where that is taken.
func (d *demo) server(ctx context.Context, environment map[string]string, log *slog.Logger) (*server.Server, net.Listener, error) {
	config, err := server.ParseConfig(environment)
	if err != nil {
		return nil, nil, err
	}
	srv, err := server.New(ctx, config, server.Options{Logger: log, Version: d.Version})
	if err != nil {
		return nil, nil, err
	}
	if err := srv.Migrate(ctx); err != nil {
		return nil, nil, errors.Join(err, srv.Close())
	}
	listener, err := net.Listen("tcp", config.HTTPAddr)
	if err != nil && !d.explicitAddress() {
		d.say("%s is taken; using another port.", config.HTTPAddr)
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, nil, errors.Join(err, srv.Close())
	}
	return srv, listener, nil
}

func (d *demo) explicitAddress() bool { return d.Environment["HTTP_ADDR"] != "" }

// recogniserMissing tells whether it is certain that nobody transcribes for
// the time being. A foreign recogniser gets a moment to answer.
func (d *demo) recogniserMissing() bool {
	if d.recogniser != nil {
		return d.recogniser.missing() != nil
	}
	return time.Since(d.started) > 10*time.Second
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.Stderr, format+"\n", args...) }
