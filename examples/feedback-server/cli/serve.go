package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime/debug"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/examples/internal/program"
)

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
	config, log, err := configure(server.ParseConfig)
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
		return errors.Join(fmt.Errorf("HTTP_ADDR: %w", err), srv.Close())
	}
	log.Info("serving", "address", "http://"+listener.Addr().String(), "version", server.Version())
	return errors.Join(srv.Run(ctx, listener), srv.Close())
}
