package capdiff_test

import (
	"fmt"

	"lessonkit.example/capability"
	"lessonkit.example/capability/capdiff"
)

// An application is compared on every platform: here only the configuration for Windows differs.
func Example() {
	before := &capability.App{
		Documents: []*capability.Document{capability.Parse([]byte(
			`{"identifier": "main", "windows": ["main"], "permissions": ["core:default"]}`), capability.Options{})},
		Config:    capability.ParseValue([]byte(`{}`), capability.Options{}),
		Manifests: capability.CoreManifests(),
	}
	after := *before
	after.PlatformConfigs = map[capability.Platform]*capability.Document{
		capability.Windows: capability.ParseValue([]byte(`{"app": {"security": {"capabilities": ["main",
			{"identifier": "own", "windows": ["tray"], "permissions": ["core:resources:default"]}]}}}`),
			capability.Options{}),
	}
	for _, c := range capdiff.Compare(before, &after, "") {
		fmt.Println(c.Kind, c.Audience.Windows, c.Commands, c.Audience.Platforms)
	}
	// Output:
	// granted [tray] [plugin:resources|close] [windows]
}
