package cli_test

import (
	"fmt"
	"os"

	"lessonkit.example/capability/cli"
)

func ExampleRun() {
	args := []string{"who", "-command", "core:window:set-title", "../testdata/app"}
	code := cli.Run(args, cli.Env{Stdout: os.Stdout, Stderr: os.Stdout})
	fmt.Println("exit code", code)
	// Output:
	// plugin:window|set_title
	//   windows main, the application's own pages
	//     by capability "main" (../testdata/app/capabilities/main.json:8:5): core:window:allow-set-title
	// exit code 0
}
