package capability

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/limit"
)

// AppManifest is the key of the application's own manifest.
const AppManifest = "__app-acl__"

// Permission allows and denies commands of one plugin, and may set a scope.
type Permission struct {
	Identifier  string
	Description string
	// Allow and Deny are commands, written as they are called: "read_file".
	Allow, Deny []string
	// ScopeAllow and ScopeDeny are the permission's own scope, nil without one.
	ScopeAllow, ScopeDeny []Value
	// Platforms limits the permission. Nil means all platforms.
	Platforms []Platform
	// Since is the release of the framework that a core permission came with; zero if it is not
	// known, and for other permissions.
	Since Version
}

// on reports whether the permission applies to a platform, "" for any.
func (p *Permission) on(platform Platform) bool {
	return p.Platforms == nil || platform == "" || slices.Contains(p.Platforms, platform)
}

// PermissionSet groups permissions and other sets.
type PermissionSet struct {
	Identifier  string
	Description string
	// Permissions are identifiers, those of the set's own plugin without its name.
	Permissions []string
}

// Manifest lists the permissions of one plugin, or of the application.
type Manifest struct {
	Plugin      string         // "fs", "core:window", or AppManifest
	Default     *PermissionSet // nil if there is none
	Permissions map[string]*Permission
	Sets        map[string]*PermissionSet
	// ScopeSchema is the JSON Schema of the plugin's scope values, absent if it accepts any value.
	ScopeSchema Value

	builtIn  bool // from the table of the core, not from the application's build
	official bool // from the table of the official plugins
	// mayHaveMore reports that the application's release of an official plugin may have names that
	// are not in the table, or that its build script lists commands that are not known.
	mayHaveMore bool
}

func newManifest(plugin string) *Manifest {
	return &Manifest{Plugin: plugin, Permissions: make(map[string]*Permission), Sets: make(map[string]*PermissionSet)}
}

// addCommand adds the two permissions that every command has, where they are not listed.
func (m *Manifest) addCommand(command string, since Version) {
	name := strings.ReplaceAll(command, "_", "-")
	allow, deny := "allow-"+name, "deny-"+name
	if m.Permissions[allow] == nil {
		m.Permissions[allow] = &Permission{Identifier: allow, Description: "Enables the command " + command + ".",
			Allow: []string{command}, Since: since}
	}
	if m.Permissions[deny] == nil {
		m.Permissions[deny] = &Permission{Identifier: deny, Description: "Denies the command " + command + ".",
			Deny: []string{command}, Since: since}
	}
}

// inRelease reports whether a permission is in the release of the framework that an application
// uses.
func (p *Permission) inRelease(framework Version) bool { return !framework.Before(p.Since) }

// names returns the names of all permissions and sets of the release that an application uses, in
// order, "default" first.
func (m *Manifest) names(framework Version) []string {
	var names []string
	if m.Default != nil {
		names = append(names, "default")
	}
	all := make(map[string]bool)
	for name, p := range m.Permissions {
		if p.inRelease(framework) {
			all[name] = true
		}
	}
	for name := range m.Sets {
		all[name] = true
	}
	delete(all, "default")
	return append(names, slices.Sorted(maps.Keys(all))...)
}

// Manifests contains the manifests of an application. Loading is not safe for concurrent use;
// reading is. The zero Manifests is empty and lacks even the core plugins: start from
// [CoreManifests].
type Manifests struct {
	byKey  map[string]*Manifest
	whole  bool // an acl-manifests file was loaded
	listed int  // permissions, sets and what they list

	locked     map[string]Version // the packages of the application, nil if they are not known
	ownPlugins bool               // some of them are plugins of the repository itself
	inlined    []string           // plugins that are a part of the application
	noOwn      bool               // the build script makes no manifest of the application
}

// Absent reports whether an application is known not to have a plugin: its Cargo.lock lacks it.
func (m *Manifests) Absent(plugin string) bool {
	if m.locked == nil || plugin == AppManifest || plugin == "core" || strings.HasPrefix(plugin, "core:") ||
		m.byKey["core:"+plugin] != nil || slices.Contains(m.inlined, plugin) {
		return false
	}
	known := m.byKey[plugin]
	_, locked := m.locked["tauri-plugin-"+plugin]
	_, named := m.locked[plugin] // a plugin's package may have another name, an official one has not
	return !locked && (known == nil && !named && !m.ownPlugins || known != nil && known.official)
}

// Get returns the manifest of a plugin ("fs", "core:window", [AppManifest]), or nil.
func (m *Manifests) Get(plugin string) *Manifest { return m.byKey[plugin] }

// plugins returns the keys of all manifests in order.
func (m *Manifests) plugins() []string { return slices.Sorted(maps.Keys(m.byKey)) }

// Whole reports whether the manifests of a whole application were loaded, so that a plugin that is
// not there is a mistake and not merely unknown.
func (m *Manifests) Whole() bool { return m.whole }

// add adds one manifest, or puts it in place of the one of the same plugin.
func (m *Manifests) add(manifest *Manifest) {
	if m.byKey == nil {
		m.byKey = make(map[string]*Manifest)
	}
	m.byKey[manifest.Plugin] = manifest
}

// addCommands adds commands to the manifest of a plugin, which it adds if there is none.
func (m *Manifests) addCommands(plugin string, commands []string) *Manifest {
	manifest := m.byKey[plugin]
	if manifest == nil {
		manifest = newManifest(plugin)
		m.add(manifest)
	}
	if m.listed+len(commands) > limit.Grants {
		manifest.mayHaveMore = true
		return manifest
	}
	m.listed += len(commands)
	for _, command := range commands {
		manifest.addCommand(command, Version{})
	}
	return manifest
}

// CompletedBy returns the manifests of an application that was not built: those of a build of it in
// another state, with the application's own permissions as its files have them now.
func (m *Manifests) CompletedBy(build *Manifests) *Manifests {
	all := *m // with its own Cargo.lock
	all.byKey, all.whole = maps.Clone(build.byKey), build.whole
	if m.noOwn {
		delete(all.byKey, AppManifest)
	}
	for plugin, one := range m.byKey {
		if plugin == "core" || one.builtIn || one.official {
			continue
		}
		if built := build.byKey[plugin]; built != nil && one.mayHaveMore {
			both := *built
			both.Default = cmp.Or(one.Default, built.Default)
			both.Permissions, both.Sets = maps.Clone(built.Permissions), maps.Clone(built.Sets)
			maps.Copy(both.Permissions, one.Permissions)
			maps.Copy(both.Sets, one.Sets)
			one = &both
		}
		all.byKey[plugin] = one
	}
	return &all
}

// Identifiers returns all permission identifiers that a capability may use, in order; the
// application's own have no plugin before them. Those of the core are those of all releases.
func (m *Manifests) Identifiers() []string {
	var ids []string
	for _, plugin := range m.plugins() {
		for _, name := range m.byKey[plugin].names(Version{}) {
			ids = append(ids, fullIdentifier(plugin, name))
		}
	}
	slices.Sort(ids)
	return ids
}

// Description returns what a permission or a set is for, as its plugin says; "" if it is not known.
func (m *Manifests) Description(identifier string) string {
	plugin, name := SplitIdentifier(identifier)
	manifest := m.byKey[plugin]
	switch {
	case manifest == nil:
		return ""
	case name == "default" && manifest.Default != nil:
		return manifest.Default.Description
	case manifest.Sets[name] != nil:
		return manifest.Sets[name].Description
	case manifest.Permissions[name] != nil:
		return manifest.Permissions[name].Description
	}
	return ""
}
