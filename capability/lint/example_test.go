package lint_test

import (
	"fmt"

	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
)

func ExampleCheck() {
	d := capability.Parse([]byte(`identifier = "main"
windows = ["main"]
permissions = ["core:default", "core:window:default"]
`), capability.Options{Name: "main.toml"})
	for _, found := range lint.Check([]*capability.Document{d}, capability.CoreManifests(), lint.Options{}) {
		fmt.Println(found.Start, found.Severity, found.Message)
	}
	// Output:
	// 3:32 info "core:window:default" is already in "core:default"; it can be removed.
}
