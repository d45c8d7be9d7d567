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
	m := &Manifests{byKey: make(map[string]*Manifest)}
	defaults := make([]string, 0, len(coreOrder))
	for _, namespace := range coreOrder {
		defaults = append(defaults, "core:"+namespace+":default")
	}
	m.byKey["core"] = &Manifest{Plugin: "core",
		Default: &PermissionSet{Identifier: "default", Description: "The default sets of all core plugins.",
			Permissions: defaults}}
	for line := range strings.Lines(coreTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		key := "core:" + fields[0]
		manifest := m.byKey[key]
		if manifest == nil {
			manifest = &Manifest{Plugin: key,
				Default: &PermissionSet{Identifier: "default", Description: "The default permissions of " + key +
					"."},
				Permissions: make(map[string]*Permission), builtIn: true}
			m.byKey[key] = manifest
		}
		since, _ := ParseVersion(fields[3]) // "-" is not known
		if manifest.addCommand(fields[1], fields[1], since); fields[2] == "default" {
			manifest.Default.Permissions = append(manifest.Default.Permissions, "allow-"+fields[1])
		}
	}
	return m
}

// addCommand makes the two permissions that every command has.
func (m *Manifest) addCommand(name, command string, since Version) {
	command = strings.ReplaceAll(command, "-", "_")
	m.Permissions["allow-"+name] = &Permission{Identifier: "allow-" + name, Description: "Enables the command " +
		command + ".", Allow: []string{command}, Since: since}
	m.Permissions["deny-"+name] = &Permission{Identifier: "deny-" + name, Description: "Denies the command " +
		command + ".", Deny: []string{command}, Since: since}
}

// addCommands makes the permissions of commands that are known by name only, where they are not
// listed.
func (m *Manifest) addCommands(commands []string) {
	for _, command := range commands {
		name := strings.ReplaceAll(command, "_", "-")
		allow, deny := "allow-"+name, "deny-"+name
		if m.Permissions[allow] == nil {
			m.Permissions[allow] = &Permission{Identifier: allow, Allow: []string{command}}
		}
		if m.Permissions[deny] == nil {
			m.Permissions[deny] = &Permission{Identifier: deny, Deny: []string{command}}
		}
	}
}
