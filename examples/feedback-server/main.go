// Command feedback-server serves the teaching-feedback service. Run "feedback-server help" for its
// commands. It is configured by the environment and by the file .env in the working directory;
// .env.example describes the variables.
package main

import (
	"os"

	"lessonkit.example/examples/feedback-server/cli"
	"lessonkit.example/examples/internal/program"
)

func main() {
	os.Exit(program.Status("feedback-server", cli.Run(program.Context(), os.Args[1:]), os.Stderr))
}
