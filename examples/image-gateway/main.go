// Command image-gateway serves the image-generation interface. By default it draws its pictures
// itself, without a model; with -upstream it stands in front of another service with the same
// interface, and makes its paid tasks durable.
//
//	image-gateway                                                  serve on 127.0.0.1:8085
//	IMAGE_GATEWAY_KEYS=alice:s3cret image-gateway -data ./images   keep tasks
//	IMAGE_API_KEY=KEY image-gateway -upstream https://images.example
//
// Then: imagegen -size 16:9 "a red fox". The interface is described at /openapi.json.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/examples/image-gateway/tasks"
	"lessonkit.example/examples/internal/program"
	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/draw"
)

func main() {
	err := run(program.Context(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	os.Exit(program.Status("image-gateway", err, os.Stderr))
}

const usage = "usage: image-gateway [flags]\n\n"

const variables = `
IMAGE_GATEWAY_KEYS    keys of the callers, NAME:KEY,NAME:KEY; if unset, -addr must be a loopback address
IMAGE_GATEWAY_SECRET  signs image URLs; if unset, they become invalid at a restart
IMAGE_API_KEY         key for -upstream
`

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("image-gateway", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:8085", "`address` to listen on")
	mode := flags.String("mode", "auto", "how to respond: sync, async, or auto, with a task if the budget is exceeded")
	budget := flags.Duration("budget", 90*time.Second, "`time` auto waits before it responds with a task")
	data := flags.String("data", "", "`directory` for tasks and images; without it they are lost at a restart")
	public := flags.String("public-url", "", "`address` of the gateway for clients, if it differs from -addr")
	upstream := flags.String("upstream", "", "`address` of a service to send requests to, instead of drawing")
	workers := flags.Int("workers", 2, "concurrent generations")
	perMinute := flags.Float64("per-minute", 60, "requests per minute and caller")
	stored := flags.Int64("storage-mb", 16000, "`megabytes` of references and images to store")
	edge := flags.Int("edge", 0, "longer side of the drawings in `pixels`; 0 means 1280")
	delay := flags.Duration("delay", 0, "`time` each drawing takes")
	if err := program.ParseAll(flags, args, stdout, usage, variables); err != nil {
		return err
	}
	if *workers < 1 || !(*perMinute > 0) || *stored < 1 { // NaN, too
		return program.Usage{Err: errors.New("-workers, -per-minute and -storage-mb must be positive")}
	}
	if *stored > 1e9 { // a petabyte
		return program.Usage{Err: errors.New("-storage-mb must be at most 1000000000")}
	}
	keys, err := callers(getenv("IMAGE_GATEWAY_KEYS"), *addr)
	if err != nil {
		return program.Usage{Err: fmt.Errorf("IMAGE_GATEWAY_KEYS: %w", err)}
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	performer := gateway.Performer{
		Generator: draw.Generator{LongEdge: *edge, Delay: *delay}, Rerun: true, Logger: logger,
	}
	if *upstream != "" {
		client, err := imagegen.New(imagegen.Config{
			BaseURL: *upstream, APIKey: getenv("IMAGE_API_KEY"), Logger: logger,
		})
		if err != nil {
			return program.Usage{Err: fmt.Errorf("-upstream: %w", err)}
		}
		performer.Generator, performer.Rerun = client, false
	}
	dir := *data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "image-gateway-*"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	performer.Files, err = gateway.OpenFiles(filepath.Join(dir, "files"), *stored*1e6)
	if err != nil {
		return err
	}
	defer performer.Files.Close()
	queue, err := tasks.Open(ctx, dir, performer, *workers, logger)
	if err != nil {
		return err
	}
	defer queue.Close()
	g, err := gateway.New(gateway.Config{
		Tasks: queue, Files: performer.Files, Keys: keys, Mode: gateway.Mode(*mode), Budget: *budget,
		PerMinute: *perMinute, PublicURL: *public, Secret: []byte(getenv("IMAGE_GATEWAY_SECRET")), Logger: logger,
	})
	if err != nil {
		return program.Usage{Err: err}
	}
	return serve(ctx, g, queue, *addr, logger)
}

// callers parses the keys. Without keys every caller is accepted, but only on a loopback address.
func callers(list, addr string) (gateway.Keys, error) {
	if list != "" {
		return gateway.ParseKeys(list)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("-addr %s is not HOST:PORT", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("unset: without keys, anyone could use the gateway on %s", addr)
	}
	return gateway.Anyone, nil
}

// serve serves until ctx ends; then running work may finish, and callers that still wait receive
// their tasks.
func serve(ctx context.Context, h http.Handler, t *tasks.Tasks, addr string, logger *slog.Logger) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	logger.Info("serving", "address", "http://"+listener.Addr().String())
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return t.Run(ctx) })
	work.Go(func() error {
		return program.Serve(ctx, program.NewServer(h), listener, tasks.ShutdownTimeout+30*time.Second)
	})
	return work.Wait()
}
