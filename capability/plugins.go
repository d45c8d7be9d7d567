package capability

import (
	_ "embed"
	"strings"
)

//go:embed plugins.tsv
var pluginTable string

// knownManifests returns the manifests that are known without a build: those of the core and of the
// framework's official plugins. The versions are those of the plugins, by the names that
// identifiers have; a plugin that is not among them is taken for the newest one known. Load an
// application's own manifests on top of it, if there are any: they leave no place for those that
// the application does not have.
func knownManifests(versions map[string]Version) *Manifests {
	m := CoreManifests()
	for line := range strings.Lines(pluginTable) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 5 { // a comment
			continue
		}
		plugin, kind, name, content := fields[0], fields[1], fields[2], fields[4]
		if kind == "newest" {
			newest, _ := ParseVersion(fields[3]) // the table is tested
			m.add(&Manifest{Plugin: plugin, Permissions: make(map[string]*Permission),
				Sets: make(map[string]*PermissionSet), official: true, newest: newest,
				version: versions[plugin]})
			continue
		}
		m.byKey[plugin].addRow(kind, name, sinceOf(fields[3]), content)
	}
	return m
}

// sinceOf reads a release of the table; ">2.0.3" is any after it.
func sinceOf(text string) Version {
	release, after := strings.CutPrefix(text, ">")
	v, _ := ParseVersion(release) // "-" is not known
	if after {
		v.Patch++
	}
	return v
}

// beyond reports whether an official plugin may have names that are not in the table.
func (m *Manifest) beyond() bool { return m.version == (Version{}) || m.newest.before(m.version) }

// has reports whether some release has a name, as far as is known.
func (m *Manifest) has(name string) bool {
	return name == "default" && m.Default != nil || m.Sets[name] != nil || m.Permissions[name] != nil
}

// addRow adds what the table says about a name since a release. What a release does not have yet is
// kept if nothing was known by the name before, so that it can be told from a mistake.
func (m *Manifest) addRow(kind, name string, since Version, content string) {
	hyphens := strings.ReplaceAll(name, "_", "-")
	known := m.has(name) || m.has("allow-"+hyphens)
	if m.version.before(since) && (known || kind != "command" && kind != "permission") {
		return
	}
	var members []string
	if content != "-" {
		members = strings.Split(content, ",")
	}
	switch kind {
	case "command":
		m.addCommand(hyphens, name, since)
	case "default":
		m.Default = &PermissionSet{Identifier: name, Permissions: members}
	case "set":
		m.Sets[name] = &PermissionSet{Identifier: name, Permissions: members}
	case "permission":
		d := ParseValue([]byte(content), Options{})
		p := new(Manifests).reader(d).permission(name, d.Root())
		p.Since = since
		m.Permissions[name] = p
	case "none":
		for _, gone := range []string{name, "allow-" + hyphens, "deny-" + hyphens} {
			delete(m.Permissions, gone)
			delete(m.Sets, gone)
		}
	}
}
