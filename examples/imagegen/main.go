// Command imagegen turns a prompt into image files.
//
//	export IMAGE_BASE_URL=https://images.example IMAGE_API_KEY=…
//	imagegen -size 16:9 -n 4 -o 'fox-{i}{ext}' "a red fox"
//
// Without IMAGE_BASE_URL it connects to examples/image-gateway on this machine. imagegen -h lists
// the flags and exit statuses.
package main

import (
	"os"

	"lessonkit.example/examples/imagegen/cli"
	"lessonkit.example/examples/internal/program"
)

func main() {
	os.Exit(cli.Run(program.Context(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
