// Command imagegen turns a prompt into image files.
// See its README and imagegen -h.
package main

import (
	"os"

	"lessonkit.example/examples/imagegen/cli"
	"lessonkit.example/examples/internal/program"
)

func main() {
	os.Exit(cli.Run(program.Context(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
