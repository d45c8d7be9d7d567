package capability

import (
	_ "embed"
	"strings"
)

//go:embed core.tsv
var coreTable string

// coreNewest is the release of the framework up to which the table of the core is complete.
var coreNewest = Version{2, 12, 5}

// coreOrder is the order of the namespaces in core:default.
var coreOrder = []string{"path", "event", "window", "webview", "app", "image", "resources", "menu", "tray"}

// CoreManifests returns the manifests of the core plugins, which every application has. Load an
// application's own manifests on top of it.
func CoreManifests() *Manifests {
	m := &Manifests{}
	defaults := make([]string, 0, len(coreOrder))
	for _, namespace := range coreOrder {
		defaults = append(defaults, "core:"+namespace+":default")
	}
	core := newManifest("core")
	core.Default = &PermissionSet{Identifier: "default", Description: "The default sets of all core plugins.",
		Permissions: defaults}
	m.add(core)
	for line := range strings.Lines(coreTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		key := "core:" + fields[0]
		manifest := m.byKey[key]
		if manifest == nil {
			manifest = newManifest(key)
			manifest.builtIn = true
			manifest.Default = &PermissionSet{Identifier: "default",
				Description: "The default permissions of " + key + "."}
			m.add(manifest)
		}
		since, _ := ParseVersion(fields[3]) // "-" is not known
		if manifest.addCommand(strings.ReplaceAll(fields[1], "-", "_"), since); fields[2] == "default" {
			manifest.Default.Permissions = append(manifest.Default.Permissions, "allow-"+fields[1])
		}
	}
	return m
}
