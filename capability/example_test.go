package capability_test

import (
	"fmt"
	"strings"

	"lessonkit.example/capability"
)

func ExampleParse() {
	file := []byte(`{
  "identifier": "main",
  "windows": "main",
  "permissions": ["core:default", "fs.exists"]
}`)
	d := capability.Parse(file, capability.Options{Name: "main.json"})
	for _, found := range d.Check(capability.ModeReference) {
		fmt.Println(found)
	}
	// Output:
	// main.json:3:14: error: "windows" must be an array, not a string; write ["main"]. (wrong-type)
	// main.json:4:35: error: ‘fs.exists’ is not a permission identifier: identifiers consist of
	// letters, digits, hyphens and a colon, not of '.'; did you mean "fs:allow-exists"?
	// (identifier-syntax)
}

func ExampleResolve() {
	d := capability.Parse([]byte(`{"identifier": "main", "windows": ["main", "settings-*"], "permissions": ["core:default"]}`), capability.Options{})
	policy, found := capability.Resolve(d.Capabilities(), capability.CoreManifests(),
		capability.ResolveOptions{Platform: capability.Linux})
	if err := found.Err(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(policy.Allowed("plugin:window|title", capability.Caller{Window: "settings-1"}))
	fmt.Println(policy.Allowed("plugin:window|close", capability.Caller{Window: "settings-1"}))
	// Output:
	// true
	// false
}

func ExamplePolicy_Explain() {
	d := capability.Parse([]byte(`{"identifier": "main", "windows": ["main"], "permissions": ["core:window:allow-close"]}`), capability.Options{Name: "main.json"})
	policy, _ := capability.Resolve(d.Capabilities(), capability.CoreManifests(), capability.ResolveOptions{})
	page, err := capability.ParseOrigin("http://localhost:1420/")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(policy.Explain("core:window:close", capability.Caller{Window: "main", Origin: page}))
	// Output:
	// denied: plugin:window|close from window "main", page http://localhost:1420/
	//
	// Capabilities allow this command, but not to this caller:
	//
	//    capability "main", main.json:1:61, permission core:window:allow-close
	//      but it is for the application's own pages only; for http://localhost:1420/ it would need "remote": {"urls": ["http://localhost:1420"]}
}

func ExampleParseIdentifier() {
	id, err := capability.ParseIdentifier("core:window:allow-close")
	fmt.Println(id.Plugin(), id.Name(), err)
	_, err = capability.ParseIdentifier("fs:allow_exists")
	fmt.Println(err)
	// Output:
	// core:window allow-close <nil>
	// identifiers are written with hyphens, not with underscores
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

func ExampleManifests_Identifiers() {
	for _, identifier := range capability.CoreManifests().Identifiers() {
		if strings.HasPrefix(identifier, "core:resources:") {
			fmt.Println(identifier)
		}
	}
	// Output:
	// core:resources:allow-close
	// core:resources:default
	// core:resources:deny-close
}
