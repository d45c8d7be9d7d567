// Command speech-server serves a command-line speech recogniser with OpenAI's transcription
// interface: curl -F file=@lesson.mp3 http://127.0.0.1:8090/v1/audio/transcriptions
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"lessonkit.example/asr/asrhttp"
	"lessonkit.example/asr/command"
	"lessonkit.example/examples/internal/program"
)

const usage = `usage:
  speech-server [flags]                           serve with PocketSphinx
  speech-server [flags] -whisper MODEL            serve with whisper-cli
  speech-server [flags] -- PROGRAM ... {input}    serve with a program that reads a WAV file and prints text
Flags:
`

var parsers = map[string]command.Parser{"lines": command.Lines, "json": command.JSON, "timed": command.Timed}

func main() {
	err := run(program.Context(), os.Args[1:], os.Stdout, os.Stderr)
	os.Exit(program.Status("speech-server", err, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("speech-server", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:8090", "`address` to serve on")
	parse := flags.String("parse", "lines", "what the program prints: lines, json or timed lines")
	whisper := flags.String("whisper", "", "use whisper-cli with this `model` file")
	concurrency := flags.Int("concurrency", 1, "number of recordings recognised at once")
	timeout := flags.Duration("timeout", command.LongestTime,
		"longest time limit for one recording; it is 8 times the recording's duration, at least 4 minutes")
	if err := program.Parse(flags, args, stdout, usage, ""); err != nil {
		return err
	}

	cfg := command.PocketSphinx()
	switch {
	case flags.NArg() > 0 && *whisper != "":
		return program.Usage{Err: errors.New("-whisper and a PROGRAM exclude each other")}
	case flags.NArg() == 0 && *parse != "lines":
		return program.Usage{Err: errors.New("-parse needs a PROGRAM whose output is parsed")}
	case *concurrency < 1 || *timeout <= 0:
		return program.Usage{Err: errors.New("-concurrency and -timeout must be positive")}
	case flags.NArg() > 0 && parsers[*parse] == nil:
		return program.Usage{Err: fmt.Errorf("-parse is %q; it must be lines, json or timed", *parse)}
	case flags.NArg() > 0:
		cfg = command.Config{Args: flags.Args(), Parse: parsers[*parse]}
	case *whisper != "":
		cfg = command.Whisper(*whisper)
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	cfg.Concurrency, cfg.Timeout, cfg.Logger = *concurrency, *timeout, log
	rec, err := command.New(cfg)
	if err != nil {
		return err
	}
	handler, err := asrhttp.New(asrhttp.Config{Recognizer: rec, MaxPending: 16 * *concurrency, Logger: log})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	log.Info("serving", "url", "http://"+listener.Addr().String(), "model", rec.Status(ctx).Model)
	return program.Serve(ctx, program.NewServer(handler), listener, 10*time.Second)
}
