// Command capability checks, explains and compares the capability files of desktop
// applications. "capability help" shows how.
package main

import (
	"os"
	"runtime/debug"

	"golang.org/x/term"

	"lessonkit.example/capability/cli"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // most runs end before there is much to collect
		debug.SetMemoryLimit(1 << 30)
	}
	_, plain := os.LookupEnv("NO_COLOR")
	os.Exit(cli.Run(os.Args[1:], cli.Env{
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Color:  !plain && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd())),
	}))
}
