package cli_test

import (
	"fmt"
	"os"

	"lessonkit.example/capability/cli"
)

func ExampleRun() {
	code := cli.Run([]string{"explain", "-window", "main"}, cli.Env{Stdout: os.Stdout, Stderr: os.Stdout})
	fmt.Println(code)
	// Output:
	// capability: explain needs a command and a window, such as: capability explain -command
	// 'plugin:window|close' -window main 2
}
