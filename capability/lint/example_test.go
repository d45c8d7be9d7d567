package lint_test

import (
	"fmt"
	"testing/fstest"

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

// Checks an application and makes the changes that are no guesses. In a program the file system is
// that of an os.Root, and the result is written.
func ExampleCheckApp() {
	fsys := fstest.MapFS{
		"tauri.conf.json": {Data: []byte(`{"app": {"security": {"capabilities": ["main"]}}}`)},
		"capabilities/main.json": {Data: []byte(
			`{"identifier": "main", "windows": "a", "permissions": ["fs:default",]}`)},
	}
	app, err := capability.LoadApp(fsys, capability.AppOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	findings := lint.CheckApp(app, lint.Options{})
	for _, file := range app.Files() {
		if source, fixes := file.Fixed(findings); fixes > 0 {
			fmt.Printf("%s: %d fixes\n%s\n", file.Name(), fixes, source)
		}
	}
	// Output:
	// capabilities/main.json: 2 fixes
	// {"identifier": "main", "windows": ["a"], "permissions": ["fs:default"]}
}
