package tomlfile_test

import (
	"fmt"

	"lessonkit.example/capability"
	"lessonkit.example/capability/tomlfile"
)

func ExampleParse() {
	d := tomlfile.Parse([]byte("identifier = \"main\"\npermissions = [\"core:default\", 5]\n"), capability.Options{Name: "main.toml"})
	for _, found := range d.Check(capability.ModeReference) {
		fmt.Println(found)
	}
	// Output:
	// main.toml:2:32: error: A permission must be a string, such as "core:default", or an object with "identifier", not a number. (wrong-type)
}
