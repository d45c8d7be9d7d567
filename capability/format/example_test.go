package format_test

import (
	"fmt"

	"lessonkit.example/capability"
	"lessonkit.example/capability/format"
)

func ExampleSource() {
	d := capability.Parse([]byte(`{permissions: ["fs:allow-exists", "core:default", "core:default"], // what
 identifier: "main"}`), capability.Options{Format: capability.JSON5})
	text, err := format.Source(d, format.Options{Sort: true})
	fmt.Print(text, err)
	// Output:
	// {
	//   identifier: "main",
	//   permissions: ["core:default", "fs:allow-exists"] // what
	// }
	// <nil>
}
