package capability_test

import (
	"fmt"
	"os"
	"testing/fstest"

	"lessonkit.example/capability"
)

func ExampleParse() {
	file := []byte(`{
  "identifier": "main",
  "windows": "main",
  "permissions": ["core:default", "fs.exists"]
}`)
	d := capability.Parse(file, capability.Options{Name: "main.json"})
	for _, found := range d.Check() {
		fmt.Println(found.Start, found.Code, found.Fix.Title)
	}
	// Output:
	// 3:14 wrong-type Put it into an array
	// 4:35 identifier-syntax Write "fs:allow-exists"
}

func Example() {
	app, err := capability.LoadApp(os.DirFS("testdata/app"), capability.AppOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, found := app.Resolve(capability.ResolveOptions{Platform: capability.Linux})
	fmt.Println(len(app.Documents), "files,", len(found), "problems")
	command, err := capability.ParseCommand("export_notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(policy.Explain(command, capability.Caller{Window: "main"}))
	// Output:
	// 10 files, 0 problems
	// allowed: export_notes from window "main", the application's own page, on linux
	//
	// by capability "main" (capabilities/main.json:11:5): allow-export-notes
}

// A program that searches a repository for applications, and files for capabilities, by itself.
func ExampleFindApps() {
	repository := fstest.MapFS{
		"notes/src-tauri/tauri.conf.json":        {Data: []byte("{}")},
		"notes/src-tauri/capabilities/main.toml": {Data: []byte(`identifier = "main"`)},
		"paint/tauri.conf.json":                  {Data: []byte("{}")},
	}
	apps, err := capability.FindApps(repository, ".")
	fmt.Println(apps, err)
	fmt.Println(capability.AppIn(repository, "notes"))
	fmt.Println(capability.FindFiles(repository, "notes/src-tauri/capabilities"))
	// Output:
	// [notes/src-tauri paint] <nil>
	// notes/src-tauri
	// [notes/src-tauri/capabilities/main.toml] <nil>
}

func ExampleResolve() {
	d := capability.Parse([]byte(`{"identifier": "main", "windows": ["main", "settings-*"], "permissions": `+
		`["core:default"]}`), capability.Options{Format: capability.JSON})
	policy, found := capability.Resolve(d.Capabilities(), capability.CoreManifests(),
		capability.ResolveOptions{Platform: capability.Linux})
	if err := found.Err(); err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"plugin:window|title", "window.close"} {
		command, err := capability.ParseCommand(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(command, policy.Allowed(command, capability.Caller{Window: "settings-1"}))
	}
	// Output:
	// plugin:window|title true
	// plugin:window|close false
}

func ExampleValue() {
	d := capability.Parse([]byte(`{
  "identifier": "main",
  "permissions": [{"identifier": "fs:allow-exists", "allow": [{"path": "$HOME/notes"}]}]
}`), capability.Options{})
	for _, entry := range d.Capabilities()[0].Permissions {
		for _, scope := range entry.Allow {
			path := scope.Get("path")
			fmt.Println(path.Position(), path.Path(), path.Text())
		}
	}
	// Output:
	// 3:72 /permissions/0/allow/0/path $HOME/notes
}

func ExampleDocument_Fixed() {
	d := capability.Parse([]byte(`{"identifier": "main", "permissions": ["core:default", "core:default"]}`),
		capability.Options{})
	source, fixes := d.Fixed(d.Check())
	fmt.Println(fixes, source)
	// Output: 1 {"identifier": "main", "permissions": ["core:default"]}
}

// An editor makes the edits of one fix, also of a guess that was reviewed.
func ExampleApply() {
	d := capability.Parse([]byte(`{"identifer": "main", "permissions": ["core:default"]}`), capability.Options{})
	var edits []capability.Edit
	for _, found := range d.Check() {
		if found.Fix != nil && found.Fix.Guess {
			edits = append(edits, found.Fix.Edits...)
		}
	}
	source, err := capability.Apply(d.Source(), edits)
	fmt.Println(source, err)
	// Output: {"identifier": "main", "permissions": ["core:default"]} <nil>
}
