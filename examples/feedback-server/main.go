// Command feedback-server serves the teaching-feedback service. Run "feedback-server help" for its
// commands. It is configured by the environment and by the file .env in the working directory;
// .env.example describes the variables.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/examples/internal/demo"
	"lessonkit.example/examples/internal/program"
)

const usage = `usage:
  feedback-server [serve]     serve, and transcribe in the background, see serve -h
  feedback-server migrate     bring the database up to date
  feedback-server demo        run the main job on this machine, see demo -h
  feedback-server version     print the version

It is configured by the environment and by the file .env in the working
directory; .env.example describes the variables.
`

func main() {
	err := run(program.Context(), os.Args[1:])
	os.Exit(program.Status("feedback-server", err, os.Stderr))
}

func run(ctx context.Context, args []string) error {
	command := "serve"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch command {
	case "serve":
		return serve(ctx, args)
	case "migrate":
		return migrate(ctx, args)
	case "demo":
		return runDemo(ctx, args)
	case "version":
		return version(args)
	case "help", "-h", "-help", "--help":
		if len(args) > 0 {
			return program.Usage{Err: fmt.Errorf("unexpected argument %q; each command has -h", args[0])}
		}
		fmt.Print(usage)
		return nil
	}
	return program.Usage{Err: fmt.Errorf("unknown command %q; feedback-server help shows the usage", command)}
}

func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("feedback-server serve", flag.ContinueOnError)
	roleName := flags.String("role", "all", "what this process does: api (serve), worker (transcribe), or all")
	if err := program.ParseAll(flags, args, os.Stdout, "usage: feedback-server [serve [flags]]\n\n", ""); err != nil {
		return err
	}
	role, err := server.ParseRole(*roleName)
	if err != nil {
		return program.Usage{Err: err}
	}
	config, log, err := configure()
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		// The live heap is small: at the default of 100, collections take a tenth of the CPU time.
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(192 << 20) // so that the heap grows five-fold only while it is small
	}
	srv, err := server.New(ctx, config, server.Options{Logger: log, Version: server.Version(), Role: role})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.HTTPAddr)
	if err != nil {
		return errors.Join(err, srv.Close())
	}
	log.Info("serving", "address", "http://"+listener.Addr().String(), "version", server.Version())
	return errors.Join(srv.Run(ctx, listener), srv.Close())
}

func migrate(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("feedback-server migrate", flag.ContinueOnError)
	const help = "usage: feedback-server migrate\n\nBrings the database up to date.\n"
	if err := program.ParseAll(flags, args, os.Stdout, help, ""); err != nil {
		return err
	}
	config, log, err := configure()
	if err != nil {
		return err
	}
	if err := server.Migrate(ctx, config, log); err != nil {
		return err
	}
	log.Info("the database is up to date")
	return nil
}

func runDemo(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("feedback-server demo", flag.ContinueOnError)
	o := demo.Options{Stdout: os.Stdout, Stderr: os.Stderr, Version: server.Version()}
	flags.StringVar(&o.Dir, "data", "lessonkit-data", "`directory` of the demo's database, audio and log")
	flags.BoolVar(&o.Once, "once", false, "exit when the record is saved")
	flags.Func("audio", "your recordings in place of the samples, `FILE`...", func(file string) error {
		o.Audio = append(o.Audio, file)
		return nil
	})
	if err := program.Parse(flags, args, os.Stdout, "usage: feedback-server demo [flags]\n\n", ""); err != nil {
		return err
	}
	if flags.NArg() > 0 && len(o.Audio) == 0 {
		return program.Usage{Err: fmt.Errorf("unexpected argument %q; recordings follow -audio", flags.Arg(0))}
	}
	o.Audio = append(o.Audio, flags.Args()...)
	var err error
	if o.Environment, err = server.Environment(os.Environ(), ".env"); err != nil {
		return err
	}
	return demo.Run(ctx, o)
}

func version(args []string) error {
	flags := flag.NewFlagSet("feedback-server version", flag.ContinueOnError)
	err := program.ParseAll(flags, args, os.Stdout, "usage: feedback-server version\n\nPrints the version.\n", "")
	if err == nil {
		fmt.Println(server.Version())
	}
	return err
}

func configure() (server.Config, *slog.Logger, error) {
	environment, err := server.Environment(os.Environ(), ".env")
	if err != nil {
		return server.Config{}, nil, err
	}
	config, err := server.ParseConfig(environment)
	return config, config.Logger(os.Stderr), err
}
