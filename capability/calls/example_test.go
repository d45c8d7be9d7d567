package calls_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"lessonkit.example/capability"
	"lessonkit.example/capability/calls"
)

func ExampleCheck() {
	fsys := fstest.MapFS{ // or os.DirFS(".")
		"src-tauri/tauri.conf.json": {Data: []byte(`{}`)},
		"src-tauri/capabilities/main.json": {Data: []byte(
			`{"identifier": "main", "windows": ["main"], "permissions": ["core:default"]}`)},
		"src/main.ts": {Data: []byte("import { exists } from '@tauri-apps/plugin-fs'\nawait exists('notes.txt')")},
	}
	app, err := capability.LoadApp(fsys, capability.AppOptions{})
	if err != nil {
		panic(err)
	}
	frontend, err := calls.Read(context.Background(), fsys, app, calls.Options{})
	if err != nil {
		panic(err)
	}
	for _, d := range calls.Check(app, frontend, "", nil) {
		fmt.Println(d.Place(), d.Fix.Title, "in", d.Fix.File)
	}
	// Output: src/main.ts:2:7 Add fs:allow-exists in src-tauri/capabilities/main.json
}
