//go:build linux

// Command cluster shows the feedback service on several nodes, on one machine: it starts all the
// parts of a cluster, causes faults in turn while phones upload, and counts what was lost.
// cluster.sh installs and builds what it needs, and makes the nodes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"lessonkit.example/examples/feedback-server/cluster/parts"
	"lessonkit.example/examples/feedback-server/cluster/trial"
	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/examples/internal/program"
)

const usage = `usage: cluster [flags] DIRECTORY
DIRECTORY contains haproxy.cfg and the files of deploy. The data and the logs are in its
subdirectory cluster, which is deleted in the end, unless the run fails.
Flags:
`

func main() {
	err := run(program.Context(), os.Args[1:])
	os.Exit(program.Status("cluster", err, os.Stderr))
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == "recogniser" {
		return serveRecogniser(ctx, args[1])
	}
	var o trial.Options
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.IntVar(&o.Phones, "phones", 200, "number of phones")
	flags.IntVar(&o.Kills, "kills", 3, "how often each fault is caused")
	flags.IntVar(&o.Kinds, "kinds", len(parts.Faults()),
		"how many kinds of faults are caused: the first of those that the full run lists")
	flags.DurationVar(&o.Length, "for", time.Minute, "how long the phones upload; longer if the faults take longer")
	flags.DurationVar(&o.Pace, "pace", 10*time.Second, "mean pause of a phone between two recordings")
	if err := program.Parse(flags, args, os.Stdout, usage, ""); err != nil {
		return err
	}
	if flags.NArg() != 1 || o.Phones < 1 || o.Kills < 1 || o.Pace <= 0 ||
		o.Kinds < 1 || o.Kinds > len(parts.Faults()) {
		return program.Usage{Err: errors.New("name one directory; -phones, -kills, -kinds and -pace must be " +
			"above 0, and -kinds at most " + strconv.Itoa(len(parts.Faults())))}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "cluster")
	files := parts.Files{Dir: data, Config: dir, Recogniser: []string{self, "recogniser"}}
	if err := trial.Run(ctx, files, o, os.Stdout); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\nThe logs and the data are in %s", err, data)
	}
	return errors.Join(ctx.Err(), os.RemoveAll(data))
}

// serveRecogniser serves the stand-in for a recogniser.
func serveRecogniser(ctx context.Context, address string) error {
	server := &http.Server{Addr: address, Handler: fleet.Recognizer(nil), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.ListenAndServe()
}
