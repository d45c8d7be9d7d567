package capability

import (
	_ "embed"
	"strings"
)

//go:embed plugins.tsv
var pluginTable string

// knownManifests returns the manifests that are known without a build: those of the core and of the
// framework's official plugins, with all names that any release has had and the content of the
// newest. The versions are those of the plugins in an application, by the names that identifiers
// have. Load an application's own manifests on top of it, if there are any.
func knownManifests(versions map[string]Version) *Manifests {
	m := CoreManifests()
	for line := range strings.Lines(pluginTable) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 { // a comment
			continue
		}
		plugin, kind, name, content := fields[0], fields[1], fields[2], fields[3]
		if kind == "newest" {
			newest, _ := ParseVersion(content) // the table is tested
			version := versions[plugin]
			official := newManifest(plugin)
			official.official, official.mayHaveMore = true, version == (Version{}) || newest.Before(version)
			m.add(official)
			continue
		}
		m.byKey[plugin].addRow(kind, name, content)
	}
	return m
}

// has reports whether some release has a name, as far as is known.
func (m *Manifest) has(name string) bool {
	return name == "default" && m.Default != nil || m.Sets[name] != nil || m.Permissions[name] != nil
}

// addRow adds what the table says about a name.
func (m *Manifest) addRow(kind, name, content string) {
	var members []string
	if content != "-" {
		members = strings.Split(content, ",")
	}
	switch kind {
	case "command":
		m.addCommand(name, Version{})
	case "default":
		m.Default = &PermissionSet{Identifier: name, Permissions: members}
	case "set":
		m.Sets[name] = &PermissionSet{Identifier: name, Permissions: members}
	case "permission":
		d := ParseValue([]byte(content), Options{})
		m.Permissions[name] = new(Manifests).reader(d).permission(name, d.Root())
	}
}
