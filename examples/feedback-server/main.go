// Command feedback-server serves the teaching-feedback service.
//
//	feedback-server [serve]     serve, and transcribe in the background, see serve -h
//	feedback-server migrate     bring the database up to date
//	feedback-server demo        run the main job on this machine, see demo -h
//	feedback-server version
//
// It is configured by the environment and by the file .env in the working
// directory; .env.example explains the names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"lessonkit.example/internal/app/demo"
	"lessonkit.example/internal/app/feedbackserver"
)

func main() {
	// A second signal ends the program at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() { <-ctx.Done(); stop() }()

	command, args := "serve", os.Args[1:]
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	err := errUsage
	switch command {
	case "serve":
		err = serve(ctx, args)
	case "migrate":
		err = migrate(ctx)
	case "demo":
		err = runDemo(ctx, args)
	case "version":
		fmt.Println(feedbackserver.Version())
		err = nil
	}
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "usage: feedback-server [serve | migrate | demo | version]")
		os.Exit(2)
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "feedback-server:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage")

func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	role := flags.String("role", "all", "what this process does: api (serve), worker (transcribe), or all")
	if err := parse(flags, args); err != nil {
		return err
	}
	part, err := feedbackserver.ParseRole(*role)
	if err != nil {
		return err
	}
	config, log, err := configure()
	if err != nil {
		return err
	}
	server, err := feedbackserver.New(ctx, config, feedbackserver.Options{Logger: log, Version: feedbackserver.Version(), Role: part})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.HTTPAddr)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	log.Info("serving", "address", "http://"+listener.Addr().String(), "version", feedbackserver.Version())
	return errors.Join(server.Run(ctx, listener), server.Close())
}

func migrate(ctx context.Context) error {
	config, log, err := configure()
	if err != nil {
		return err
	}
	server, err := feedbackserver.New(ctx, config, feedbackserver.Options{Logger: log})
	if err != nil {
		return err
	}
	if err := errors.Join(server.Migrate(ctx), server.Close()); err != nil {
		return err
	}
	log.Info("the database is up to date")
	return nil
}

func runDemo(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	o := demo.Options{Stdout: os.Stdout, Stderr: os.Stderr, Version: feedbackserver.Version()}
	flags.StringVar(&o.Dir, "data", "lessonkit-data", "`directory` of the demo's database, audio and log")
	flags.BoolVar(&o.Once, "once", false, "end when the record is saved, with exit code 0")
	flags.Func("audio", "recordings of your own instead of the samples: `FILE`..., or the flag again for each", func(file string) error {
		o.Audio = append(o.Audio, file)
		return nil
	})
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 && len(o.Audio) == 0 {
		return fmt.Errorf("demo: unexpected %q", flags.Arg(0))
	}
	o.Audio = append(o.Audio, flags.Args()...)
	var err error
	if o.Environment, err = feedbackserver.Environment(os.Environ(), ".env"); err != nil {
		return err
	}
	return demo.Run(ctx, o)
}

// parse leaves it to flag to say what is wrong.
func parse(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return errUsage
	}
	return err
}

func configure() (feedbackserver.Config, *slog.Logger, error) {
	config, err := feedbackserver.LoadConfig()
	return config, config.Logger(os.Stderr), err
}
