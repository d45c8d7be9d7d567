package capdiff_test

import (
	"fmt"

	"lessonkit.example/capability"
	"lessonkit.example/capability/capdiff"
)

func ExampleCompare() {
	read := func(text string) capdiff.Side {
		d := capability.Parse([]byte(text), capability.Options{})
		return capdiff.Side{Capabilities: d.Capabilities(), Manifests: capability.CoreManifests()}
	}
	before := read(`{"identifier": "a", "windows": ["main"], "permissions": ["core:resources:default"]}`)
	after := read(`{"identifier": "a", "windows": ["*"], "permissions": ["core:resources:default"]}`)
	for _, c := range capdiff.Compare(before, after, capability.ResolveOptions{}) {
		fmt.Println(c.Kind, c.Audience.Windows, c.Commands)
	}
	// Output:
	// granted [*] [plugin:resources|close]
}
