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
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/draw"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	switch err := run(ctx, os.Args[1:], os.Getenv, os.Stderr); {
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, "image-gateway:", err)
		os.Exit(2)
	case err != nil && !errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(os.Stderr, "image-gateway:", err)
		os.Exit(1)
	}
}

// usageError is a wrong flag or variable.
type usageError struct{ error }

const variables = `
IMAGE_GATEWAY_KEYS    keys of the callers, NAME:KEY,NAME:KEY; without it the address must be of this machine
IMAGE_GATEWAY_SECRET  signs the addresses of images; without it they end at a restart
IMAGE_API_KEY         the key for -upstream
`

// run is the whole program.
func run(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) error {
	flags := flag.NewFlagSet("image-gateway", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are printed once, by main
	addr := flags.String("addr", "127.0.0.1:8085", "`address` to serve on")
	mode := flags.String("mode", "auto", "how to answer: sync, async, or auto, which answers with a task when the budget is spent")
	budget := flags.Duration("budget", 90*time.Second, "`time` auto waits before it answers with a task")
	data := flags.String("data", "", "`directory` for tasks and images; without it a restart forgets them")
	public := flags.String("public-url", "", "`address` clients reach the gateway under, if it is another")
	upstream := flags.String("upstream", "", "`address` of a service to pass requests on to, instead of drawing")
	workers := flags.Int("workers", 2, "generations at a time")
	perMinute := flags.Float64("per-minute", 60, "requests one caller may make")
	delay := flags.Duration("delay", 0, "`time` to pretend a drawing takes")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stderr)
		fmt.Fprint(stderr, "usage: image-gateway [flags]\n\n")
		flags.PrintDefaults()
		fmt.Fprint(stderr, variables)
		return err
	} else if err != nil {
		return usageError{err}
	}
	if flags.NArg() > 0 {
		return usageError{fmt.Errorf("%q: there are no arguments", flags.Arg(0))}
	}
	keys, err := callers(getenv("IMAGE_GATEWAY_KEYS"), *addr)
	if err != nil {
		return usageError{fmt.Errorf("IMAGE_GATEWAY_KEYS: %w", err)}
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	config := gateway.Config{Generator: draw.New(draw.Config{Delay: *delay}), Rerun: true, Keys: keys, Mode: gateway.Mode(*mode), Budget: *budget,
		PublicURL: *public, Secret: []byte(getenv("IMAGE_GATEWAY_SECRET")), Workers: *workers,
		Limits: gateway.Limits{PerMinute: *perMinute}, Logger: logger}
	if *upstream != "" {
		client, err := imagegen.New(imagegen.Config{BaseURL: *upstream, Key: getenv("IMAGE_API_KEY"), Logger: logger})
		if err != nil {
			return usageError{err}
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
		return usageError{err}
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
	server := &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	logger.Info("serving", "address", "http://"+listener.Addr().String())
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		defer func() { // the gateway has stopped, and answered whoever waited
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			_ = server.Shutdown(end)
		}()
		return g.Run(ctx)
	})
	work.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return work.Wait()
}
