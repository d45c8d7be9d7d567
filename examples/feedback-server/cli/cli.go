// Package cli has the commands of feedback-server.
package cli

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"lessonkit.example/examples/feedback-server/server"
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

// Run runs the command that args name. Its errors are those of package program.
func Run(ctx context.Context, args []string) error {
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

func migrate(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("feedback-server migrate", flag.ContinueOnError)
	const help = "usage: feedback-server migrate\n\nBrings the database up to date.\n"
	if err := program.ParseAll(flags, args, os.Stdout, help, ""); err != nil {
		return err
	}
	config, log, err := configure(server.ParseMigrateConfig)
	if err != nil {
		return err
	}
	return server.Migrate(ctx, config, log)
}

func version(args []string) error {
	flags := flag.NewFlagSet("feedback-server version", flag.ContinueOnError)
	err := program.ParseAll(flags, args, os.Stdout, "usage: feedback-server version\n\nPrints the version.\n", "")
	if err == nil {
		fmt.Println(server.Version())
	}
	return err
}

func configure(parse func(map[string]string) (server.Config, error)) (server.Config, *slog.Logger, error) {
	environment, unknown, err := server.Environment(os.Environ(), ".env")
	if err != nil {
		return server.Config{}, nil, err
	}
	config, err := parse(environment)
	log := config.Logger(os.Stderr)
	if err == nil && len(unknown) > 0 {
		log.Warn("variables with these names are not known and have no effect", "names", unknown)
	}
	return config, log, err
}
