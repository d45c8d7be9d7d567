// Command bench measures the packages against their peers:
//
//	go run . SUBJECT [-check] [-pairs N]
//
// The peers are dependencies of this module alone.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"lessonkit.example/internal/bench/asr"
	"lessonkit.example/internal/bench/auth"
	"lessonkit.example/internal/bench/capability"
	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/bench/imagegen"
	"lessonkit.example/internal/bench/jobqueue"
	"lessonkit.example/internal/bench/service"
)

// subjects are the packages that can be measured. Each function adds its rows to the harness.
var subjects = map[string]func(*harness.Harness){
	"asr":        asr.Run,
	"auth":       auth.Run,
	"capability": capability.Run,
	"imagegen":   imagegen.Run,
	"jobqueue":   jobqueue.Run,
	"service":    service.Run,
}

func main() {
	if len(os.Args) < 2 || subjects[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "usage: go run . SUBJECT [-check] [-pairs N]\nsubjects: %v\n",
			slices.Sorted(maps.Keys(subjects)))
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(subject string, args []string) error {
	h, err := harness.New(subject, args)
	if err != nil {
		return err
	}
	defer h.TB.Release()
	if err := harness.Try(func() { subjects[subject](h) }); err != nil {
		return err
	}
	return h.Finish(os.Stdout)
}
