package cli

import (
	"context"
	"flag"
	"fmt"
	"os"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/examples/internal/demo"
	"lessonkit.example/examples/internal/program"
)

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
	if o.Environment, _, err = server.Environment(os.Environ(), ".env"); err != nil {
		return err
	}
	return demo.Run(ctx, o)
}
