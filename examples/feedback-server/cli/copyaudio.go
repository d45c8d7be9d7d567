package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lessonkit.example/examples/feedback-server/copyaudio"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/examples/internal/program"
)

const copyAudioHelp = `usage: feedback-server copy-audio [flags] FROM TO

Copies all recordings from a directory into a bucket, or back. FROM and TO are
directories or s3://bucket/prefix?endpoint=https://host:port&region=name, with
the credentials of AUDIO_STORAGE_URL. Recordings that TO has are compared with
those of FROM and never replaced. Each copy is read again and compared.

It can be interrupted and repeated. Recordings that cannot be copied are named at
the end, with exit status 1. Nothing is deleted from FROM.

`

func copyAudio(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("feedback-server copy-audio", flag.ContinueOnError)
	var o copyaudio.Options
	flags.BoolVar(&o.BySize, "by-size", false, "compare recordings that TO has by size only, without reading them:\n"+
		"after a run without -by-size that ended with status 0")
	if err := program.Parse(flags, args, os.Stdout, copyAudioHelp, ""); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return program.Usage{Err: errors.New("FROM and TO are needed; feedback-server copy-audio -h shows the usage")}
	}
	config, _, err := configure()
	if err != nil {
		return err
	}
	if from := flags.Arg(0); !strings.Contains(from, "://") {
		if _, err := os.Stat(filepath.Join(from, "incoming")); err != nil {
			return fmt.Errorf("FROM: %s is not a directory of recordings: %w", from, err)
		}
	}
	from, err := server.OpenAudio(config, flags.Arg(0))
	if err != nil {
		return fmt.Errorf("FROM: %w", err)
	}
	to, err := server.OpenAudio(config, flags.Arg(1))
	if err != nil {
		return fmt.Errorf("TO: %w", err)
	}
	o.Progress = func(r copyaudio.Result) { fmt.Fprintln(os.Stderr, r) }
	result, err := copyaudio.Run(ctx, from, to, o)
	fmt.Println(result)
	return err
}
