// Command image-gateway serves the image-generation interface. As it starts, it draws its pictures itself, without a model;
// with an upstream it stands before another service of the same interface, and makes its paid tasks durable.
//
//	image-gateway                                                serve drawings on 127.0.0.1:8085, to anyone on this machine
//	IMAGE_GATEWAY_KEYS=alice:s3cret image-gateway -data ./images  keep tasks over restarts, want a key
//	IMAGE_API_KEY=… image-gateway -upstream https://images.example
//
// Then: imagegen -size 16:9 "a red fox". The interface is described at /openapi.json.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/examples/internal/program"
	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/draw"
	"lessonkit.example/internal/httpapi"
)

func main() {
	err := run(program.Context(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	os.Exit(program.Status("image-gateway", err, os.Stderr))
}

const usage = "usage: image-gateway [flags]\n\n"

const variables = `
IMAGE_GATEWAY_KEYS    keys of the callers, NAME:KEY,NAME:KEY; without it the address must be of this machine
IMAGE_GATEWAY_SECRET  signs the addresses of images; without it they end at a restart
IMAGE_API_KEY         the key for -upstream
`

// run is the whole program.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("image-gateway", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:8085", "`address` to serve on")
	mode := flags.String("mode", "auto", "how to answer: sync, async, or auto, which answers with a task when the budget is spent")
	budget := flags.Duration("budget", 90*time.Second, "`time` auto waits before it answers with a task")
	data := flags.String("data", "", "`directory` for tasks and images; without it a restart forgets them")
	public := flags.String("public-url", "", "`address` clients reach the gateway under, if it is another")
	upstream := flags.String("upstream", "", "`address` of a service to pass requests on to, instead of drawing")
	workers := flags.Int("workers", 2, "generations at a time")
	perMinute := flags.Float64("per-minute", 60, "requests one caller may make")
	delay := flags.Duration("delay", 0, "`time` to pretend a drawing takes")
	if err := program.ParseAll(flags, args, stdout, usage, variables); err != nil {
		return err
	}
	keys, err := callers(getenv("IMAGE_GATEWAY_KEYS"), *addr)
	if err != nil {
		return program.Usage{Err: fmt.Errorf("IMAGE_GATEWAY_KEYS: %w", err)}
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	config := gateway.Config{Generator: draw.Generator{Delay: *delay}, Rerun: true, Keys: keys, Mode: gateway.Mode(*mode), Budget: *budget,
		PublicURL: *public, Secret: []byte(getenv("IMAGE_GATEWAY_SECRET")), Workers: *workers,
		Limits: gateway.Limits{PerMinute: *perMinute}, Logger: logger}
	if *upstream != "" {
		client, err := imagegen.New(imagegen.Config{BaseURL: *upstream, APIKey: getenv("IMAGE_API_KEY"), Logger: logger})
		if err != nil {
			return program.Usage{Err: fmt.Errorf("-upstream: %w", err)}
		}
		config.Generator, config.Rerun = client, false
	}
	if *data != "" {
		if config.Store, err = gateway.Dir(*data); err != nil {
			return err
		}
	}
	g, err := gateway.New(config)
	if err != nil {
		return program.Usage{Err: err}
	}
	return serve(ctx, g, *addr, logger)
}

// callers reads the keys. Without any everybody is let in, but only from this machine.
func callers(list, addr string) (gateway.Keys, error) {
	if list == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("-addr %s: want HOST:PORT", addr)
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("it is not set, and serving on %s without keys would let anybody in", addr)
		}
		return gateway.Anyone, nil
	}
	return gateway.ParseKeys(list)
}

// serve serves until ctx ends; then work under way may finish.
func serve(ctx context.Context, g *gateway.Gateway, addr string, logger *slog.Logger) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	logger.Info("serving", "address", "http://"+listener.Addr().String())
	work, ctx := errgroup.WithContext(ctx)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	work.Go(func() error {
		defer stop() // when the gateway has stopped, and answered whoever waited
		return g.Run(ctx)
	})
	// without keys, any page in a browser on this machine could post a form
	handler := http.NewCrossOriginProtection().Handler(g)
	work.Go(func() error { return httpapi.Serve(serving, httpapi.NewServer(handler), listener, time.Minute) })
	return work.Wait()
}
