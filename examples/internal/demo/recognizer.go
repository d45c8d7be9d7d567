package demo

import (
	"context"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/asr/asrhttp"
	"lessonkit.example/asr/command"
	"lessonkit.example/examples/internal/program"
)

// startRecognizer serves PocketSphinx over HTTP and returns its address. Its error names the
// programs that are not installed.
func startRecognizer(ctx context.Context, group *errgroup.Group, log *slog.Logger) (url string, err error) {
	config := command.PocketSphinx()
	config.Concurrency = 2
	config.Logger = log
	recognizer, err := command.New(config)
	if err != nil {
		return "", err
	}
	handler, err := asrhttp.New(asrhttp.Config{Recognizer: recognizer, Logger: log})
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	group.Go(func() error { return program.Serve(ctx, program.NewServer(handler), listener, 10*time.Second) })
	return "http://" + listener.Addr().String(), nil
}
