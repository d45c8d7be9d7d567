package capability

import (
	"fmt"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/syntax"
	"lessonkit.example/capability/internal/words"
)

// expand returns the permissions of an identifier. Results are cached.
func (r *resolver) expand(identifier string) *expansion {
	if x := r.expansions[identifier]; x != nil {
		return x
	}
	x := &expansion{}
	r.expansions[identifier] = x
	if checkIdentifier(identifier) != nil || r.expanded > limit.Grants {
		return x // reported when the file was read, or as too large
	}
	r.fill(x, identifier)
	if x.unknown != nil {
		x.commands, x.copies = 1, 1
	}
	for i := range x.permissions {
		p := &x.permissions[i]
		commands, values := len(p.Allow)+len(p.Deny), len(p.Permission.ScopeAllow)+len(p.Permission.ScopeDeny)
		if !p.Permission.on(r.options.Platform) {
			x.others++
			continue
		}
		x.commands += commands
		x.denies = x.denies || len(p.Deny) > 0
		x.others += values
		if commands == 0 {
			x.others++
		}
		if commands == 0 || values > 0 {
			x.copies++
		}
	}
	return x
}

func (r *resolver) fill(x *expansion, identifier string) {
	plugin, name := SplitIdentifier(identifier)
	manifest := r.manifests.Get(plugin)
	unknown := func() *Expansion {
		one := newExpansion(plugin, &Permission{Identifier: name}, []string{identifier})
		return &one
	}
	if r.manifests.Absent(plugin) {
		x.unknown = unknown()
		x.faults = append(x.faults, r.unknownPlugin(plugin, name, identifier))
		return
	}
	if manifest == nil {
		x.unknown = unknown()
		r.expandUnknown(x, plugin, name, identifier)
		return
	}
	e := expander{r: r, x: x, expanded: make(map[*PermissionSet]bool)}
	if !e.name(manifest, name, nil) {
		x.faults = append(x.faults, r.unknownPermission(manifest, identifier, name))
		x.unknown = unknown()
	}
	if r.expanded += len(x.permissions); r.expanded > limit.Grants {
		e.fault(syntax.FaultTooLarge, "With this the permission sets contain more than %d permissions in all; "+
			"nothing is granted.", limit.Grants)
	}
}

// expandUnknown handles a plugin without a manifest.
func (r *resolver) expandUnknown(x *expansion, plugin, name, identifier string) {
	if r.manifests.Get("core:"+plugin) != nil {
		suggestion := "core:" + identifier
		x.faults = append(x.faults,
			fault{codeUnknownPlugin,
				fmt.Sprintf("There is no plugin %q; since version 2.0 core permissions begin with core: — "+
					"write %q.", plugin, suggestion), suggestion})
		return
	}
	if !r.options.Partial || strings.HasPrefix(plugin, "core:") || plugin == AppManifest && r.manifests.noOwn {
		x.faults = append(x.faults, r.unknownPlugin(plugin, name, identifier))
		return
	}
	if plugin == AppManifest {
		x.appChecked = true // permissions of the application exist only beside its manifest
	} else {
		x.faults = append(x.faults,
			fault{code: codeUncheckedPlugin, message: "no manifest of a build is loaded; build the application, " +
				"which writes gen/schemas/acl-manifests.json"})
	}
	p := &Permission{Identifier: name}
	if command, ok := strings.CutPrefix(name, "allow-"); ok {
		p.Allow = []string{strings.ReplaceAll(command, "-", "_")}
		x.unknown = nil // the command stands for it
	} else if command, ok := strings.CutPrefix(name, "deny-"); ok {
		p.Deny = []string{strings.ReplaceAll(command, "-", "_")}
	} else {
		return
	}
	x.permissions = append(x.permissions, newExpansion(plugin, p, []string{identifier}))
}

func newExpansion(plugin string, p *Permission, chain []string) Expansion {
	e := Expansion{plugin: plugin, Permission: p, Chain: chain}
	for _, command := range p.Allow {
		e.Allow = append(e.Allow, newCommand(plugin, command))
	}
	for _, command := range p.Deny {
		e.Deny = append(e.Deny, newCommand(plugin, command))
	}
	return e
}

// expander expands sets, each of them once: a set that is in two others adds nothing the second
// time, and expanding it each time would take exponential time.
type expander struct {
	r        *resolver
	x        *expansion
	expanded map[*PermissionSet]bool
}

// name adds the permissions of a name in a manifest. It tries the default set, then sets, then
// permissions, and returns false if the name does not exist. Every plugin has a default set, for
// the build makes an empty one where the plugin has none.
func (e *expander) name(m *Manifest, name string, chain []string) bool {
	if name == "default" {
		if m.Default != nil {
			e.set(m, m.Default, "default", chain)
		}
		return true
	}
	if set := m.Sets[name]; set != nil {
		e.set(m, set, name, chain)
		return true
	}
	return e.permission(m, name, chain)
}

func (e *expander) permission(m *Manifest, name string, chain []string) bool {
	p := m.Permissions[name]
	if p == nil {
		return false
	}
	if !p.inRelease(e.r.options.Version) {
		return len(chain) > 0 // the set did not have it yet
	}
	e.x.permissions = append(e.x.permissions,
		newExpansion(m.Plugin, p, slices.Concat(chain, []string{fullIdentifier(m.Plugin, name)})))
	return true
}

// maxNested limits how deeply sets contain each other; real ones do up to three levels.
const maxNested = 64

func (e *expander) set(m *Manifest, set *PermissionSet, name string, chain []string) {
	identifier := fullIdentifier(m.Plugin, name)
	if at := slices.Index(chain, identifier); at >= 0 {
		cycle := strings.Join(append(slices.Clone(chain[at:]), identifier), " → ")
		e.fault(codePermissionCycle, "The permission sets %s contain each other; the plugin's author has to break "+
			"the circle.", cycle)
		return
	}
	if e.expanded[set] {
		return
	}
	e.expanded[set] = true
	if len(chain) == maxNested {
		e.fault(syntax.FaultTooDeep, "The permission set %s is nested in %d others; what it contains is left out.",
			identifier, maxNested)
		return
	}
	chain = slices.Concat(chain, []string{identifier})
	for _, member := range set.Permissions {
		if !e.member(m, member, chain) {
			e.fault(codeUnknownSetMember, "The permission %q, which is in the set %s, does not exist; the plugin's "+
				"author has to correct it.", member, identifier)
		}
	}
}

// fault adds a fault, up to one beyond the limit, which tells of more.
func (e *expander) fault(code Code, format string, args ...any) {
	if len(e.x.faults) <= limit.PerRule {
		e.x.faults = append(e.x.faults, fault{code: code, message: fmt.Sprintf(format, args...)})
	}
}

// member adds the permissions of a set's member. A prefix that names an existing plugin refers to
// that plugin; otherwise the whole member is a name in the set's own plugin. Unlike in a
// capability, permissions take precedence over sets.
func (e *expander) member(m *Manifest, member string, chain []string) bool {
	if plugin, name := SplitIdentifier(member); plugin != AppManifest {
		if other := e.r.manifests.Get(plugin); other != nil {
			m, member = other, name
		}
	}
	if member == "default" {
		return e.name(m, member, chain)
	}
	if e.permission(m, member, chain) {
		return true
	}
	if set := m.Sets[member]; set != nil {
		e.set(m, set, member, chain)
		return true
	}
	return false
}

func (r *resolver) unknownPlugin(plugin, name, identifier string) fault {
	f := fault{code: codeUnknownPlugin}
	if r.faults++; r.faults > limit.PerRule { // spare the search for a suggestion
		f.message = fmt.Sprintf("The application has no plugin of which %q is a permission.", identifier)
		return f
	}
	if plugin == AppManifest {
		f.message = fmt.Sprintf("%q is a permission of the application itself, which has no manifest: list its "+
			"commands in the build script, or put the plugin before the name, such as \"fs:%s\".", identifier, name)
		return f
	}
	if namespace, ok := strings.CutPrefix(plugin, "core:"); ok {
		f.message = fmt.Sprintf("The core has no namespace %q; it has %s.", namespace, strings.Join(coreOrder, ", "))
		if like := words.Closest(namespace, coreOrder); like != "" && r.has(r.manifests.Get("core:"+like), name) {
			f.suggestion = "core:" + like + ":" + name
			f.message = fmt.Sprintf("The core has no namespace %q; did you mean %q?", namespace, f.suggestion)
		}
		return f
	}
	f.message = fmt.Sprintf("The application has no plugin %q; add tauri-plugin-%s to it, or remove %q.", plugin,
		plugin, identifier)
	if r.manifests.Absent(plugin) {
		f.message = fmt.Sprintf("The application has no plugin %q: Cargo.lock has no package tauri-plugin-%s; add "+
			"it, or remove %q.", plugin, plugin, identifier)
	} else if _, locked := r.manifests.locked["tauri-plugin-"+plugin]; locked {
		f.message = fmt.Sprintf("The manifests of the build have no plugin %q, which Cargo.lock has; build the "+
			"application again or, if the plugin is for some platforms only, add these to the capability as "+
			"\"platforms\".", plugin)
	}
	like := r.closest(plugin, r.names(nil))
	if like != "" && !r.manifests.Absent(like) && r.has(r.manifests.Get(like), name) {
		f.suggestion = fullIdentifier(like, name)
		f.message = fmt.Sprintf("The application has no plugin %q; did you mean %q?", plugin, f.suggestion)
	}
	return f
}

func (r *resolver) unknownPermission(m *Manifest, identifier, name string) fault {
	f := fault{code: codeUnknownPermission}
	if m.builtIn && coreNewest.Before(r.options.Version) || m.mayHaveMore {
		f.code = codeNewerPermission
	}
	if r.faults++; r.faults > limit.PerRule { // spare the search for a suggestion
		f.message = fmt.Sprintf("The plugin %s has no permission %q.", m.Plugin, identifier)
		return f
	}
	if p := m.Permissions[name]; p != nil {
		f.message = fmt.Sprintf("The permission %q came with Tauri %d.%d, and the application uses %s; update it, or "+
			"remove the permission.", identifier, p.Since.Major, p.Since.Minor, r.options.Version)
		return f
	}
	names, written := r.names(m), name
	like := ""
	if m.Plugin == "core:app" { // names of a command in documents
		name = strings.Replace(name, "framework-version", "tauri-version", 1)
	}
	for _, guess := range []string{name, "allow-" + name, strings.TrimPrefix(name, "allow-"),
		"allow-" + strings.ToLower(name), strings.ToLower(name)} {
		if like == "" && guess != written && r.has(m, guess) {
			like = guess
		}
	}
	if like == "" {
		like = r.closest(name, names)
	}
	if like != "" {
		f.code = codeUnknownPermission // what is so much like a name is hardly another
	}
	if f.code == codeNewerPermission && m.builtIn {
		f.message = fmt.Sprintf("The permission %q is not known up to Tauri %s, and the application uses %s, which "+
			"may have it; build the application, which writes gen/schemas/acl-manifests.json.", identifier,
			coreNewest, r.options.Version)
		return f
	}
	owner := "plugin " + m.Plugin
	if m.Plugin == AppManifest {
		owner = "application"
	}
	switch {
	case like == "" && f.code == codeNewerPermission:
		f.message = fmt.Sprintf("The permission %q of the %s is not known, but it may have it; build the "+
			"application, which writes gen/schemas/acl-manifests.json.", identifier, owner)
	case like != "":
		f.suggestion = fullIdentifier(m.Plugin, like)
		f.message = fmt.Sprintf("The %s has no permission %q; did you mean %q?", owner, identifier, f.suggestion)
	case len(names) == 0:
		f.message = fmt.Sprintf("The %s has no permission %q, and none at all.", owner, identifier)
	default:
		f.message = fmt.Sprintf("The %s has no permission %q; it has %s.", owner, identifier, words.Some(names, 8))
	}
	return f
}

// has reports whether a manifest has a name in the release that the application uses.
func (r *resolver) has(m *Manifest, name string) bool {
	if m == nil || !m.has(name) {
		return false
	}
	p := m.Permissions[name]
	return p == nil || p.inRelease(r.options.Version)
}

// names returns the names of a manifest in that release, or of all plugins if it is nil.
func (r *resolver) names(m *Manifest) []string {
	names, ok := r.known[m]
	if !ok {
		if names = r.manifests.plugins(); m != nil {
			names = m.names(r.options.Version)
		}
		r.known[m] = names
	}
	return names
}

// maxCompared limits the search for suggestions; the largest real plugin has 300 names.
const maxCompared = 1_000_000

func (r *resolver) closest(name string, names []string) string {
	if r.compared += len(names); r.compared > maxCompared {
		return ""
	}
	return words.Closest(name, names)
}

// Expansion is a permission to which an identifier of a capability expands.
type Expansion struct {
	Permission *Permission
	// Allow and Deny are the commands of the permission.
	Allow, Deny []Command
	// Chain contains the identifiers that lead through sets to the permission, both ends included.
	Chain []string

	plugin string
}

// Expand returns the permissions of an identifier: one, or those of a set. It reports whether they
// are complete: whether the identifier and all members of its sets exist. Permissions of a plugin
// without a manifest are derived from their names, as by ResolveOptions.Partial. The caller must
// not change them.
func (m *Manifests) Expand(identifier string) (expansions []Expansion, complete bool) {
	x := m.quiet().expand(identifier)
	return x.permissions, len(x.faults) == 0
}

// quiet returns a resolver for expansions whose messages are not used.
func (m *Manifests) quiet() *resolver {
	return &resolver{manifests: m, options: ResolveOptions{Partial: true}, expansions: make(map[string]*expansion),
		faults: limit.PerRule}
}
