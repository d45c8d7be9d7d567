package lint_test

import (
	"fmt"
	"testing/fstest"

	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
)

// Checks an application and makes the changes that are no guesses. In a program the file system is
// that of an os.Root, and the result is written.
func Example() {
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
