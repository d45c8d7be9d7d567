package cli_test

import (
	"fmt"
	"os"

	"lessonkit.example/capability/cli"
)

func Example() {
	args := []string{"who", "-command", "export_notes", "../testdata/app"}
	code := cli.Run(args, cli.Env{Stdout: os.Stdout, Stderr: os.Stdout})
	fmt.Println("exit code", code)
	// Output:
	// export_notes
	//   windows main, the application's own pages
	//     by capability "main" (../testdata/app/capabilities/main.json:11:5): allow-export-notes
	// exit code 0
}
