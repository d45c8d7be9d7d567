package capability

import (
	"fmt"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/syntax"
)

// Load adds the manifests of an application from its acl-manifests.json, which the build writes: an
// object with one manifest per plugin. A plugin that is known already is replaced. What is wrong
// with the file is returned; its sound parts are loaded all the same.
func (m *Manifests) Load(name string, text []byte) Diagnostics {
	d := parseValue(text, Options{Name: name}, limit.Bytes)
	r := m.reader(d)
	if d.Root().Kind() != Object {
		if !d.text.Damaged() {
			r.fault(d.Root(), "the file must contain an object with one manifest per plugin, not %s", d.Root().Kind())
		}
		return r.diagnostics()
	}
	for key, value := range d.Root().Members() {
		if r.is(value, Object, "a manifest") {
			m.add(r.manifest(key.Text(), value))
		}
	}
	m.listed = r.listed
	m.whole = m.whole || !d.text.Damaged() && m.listed <= limit.Grants
	return r.diagnostics()
}

// LoadPermissions adds the permissions of a permission file, which a plugin or the application
// keeps in its permissions folder: objects default, set and permission. The plugin is named as
// identifiers name it; [AppManifest] is the application. Give a document read by [ParseValue].
func (m *Manifests) LoadPermissions(plugin string, d *Document) Diagnostics {
	r := m.reader(d)
	root := d.Root()
	if !r.is(root, Object, "a permission file") {
		return r.diagnostics()
	}
	manifest := m.byKey[plugin]
	if manifest == nil {
		manifest = newManifest(plugin)
		m.add(manifest)
	}
	r.keys(root, "default", "set", "permission", "commands")
	if set := root.Get("default"); set.Exists() {
		manifest.Default = r.set("default", set)
	}
	for _, item := range r.array(root.Get("set"), "set") {
		if set := r.set("", item); set != nil {
			manifest.Sets[set.Identifier] = set
		}
	}
	for _, item := range r.array(root.Get("permission"), "permission") {
		if p := r.permission("", item); p != nil {
			manifest.Permissions[p.Identifier] = p
		}
	}
	for _, command := range r.strings(root.Get("commands"), "commands") {
		manifest.addCommand(command, Version{})
	}
	m.listed = r.listed
	return r.diagnostics()
}

// manifestReader keeps what it finds to itself: the document may be in use elsewhere.
type manifestReader struct {
	doc    *Document
	found  []Diagnostic
	listed int // by all manifests
}

func (m *Manifests) reader(d *Document) *manifestReader {
	return &manifestReader{doc: d, found: slices.Clip(d.found), listed: m.listed}
}

// full reports whether the manifests list too much with n more. It counts them.
func (r *manifestReader) full(v Value, n int) bool {
	before := r.listed
	if r.listed += n; before <= limit.Grants && r.listed > limit.Grants {
		r.add(Diagnostic{Code: syntax.FaultTooLarge, Message: fmt.Sprintf("With this the manifests list more than %d "+
			"permissions, sets, members, commands and scope values; this one and those after it are not read.",
			limit.Grants), at: v.span()})
	}
	return r.listed > limit.Grants
}

func (r *manifestReader) diagnostics() Diagnostics {
	return Diagnostics(r.found).sorted()
}

func (r *manifestReader) add(f Diagnostic) { r.found = r.doc.with(r.found, f) }

func (r *manifestReader) fault(v Value, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.add(Diagnostic{Code: codeManifest, Message: strings.ToUpper(text[:1]) + text[1:] + ".", at: v.span()})
}

// keys reports the keys of an object that have no meaning.
func (r *manifestReader) keys(object Value, known ...string) {
	for key := range object.Members() {
		if key.Text() == "$schema" || slices.Contains(known, key.Text()) {
			continue
		}
		message := fmt.Sprintf("The key %q has no meaning here and is ignored; the keys are %s.", key.Text(),
			strings.Join(known, ", "))
		if key.Text() == "scope" {
			message = `The key "scope" has no meaning here and is ignored; a scope belongs in a permission, in TOML ` +
				`as [[permission.scope.allow]].`
		}
		r.add(Diagnostic{Code: codeUnknownKey, Message: message, at: key.span()})
	}
}

func (r *manifestReader) is(v Value, kind Kind, what string) bool {
	if v.Kind() == kind {
		return true
	}
	if v.Exists() && v.Kind() != Broken {
		r.fault(v, "%s must be %s, not %s", what, kind, v.Kind())
	}
	return false
}

func (r *manifestReader) array(v Value, what string) []Value {
	if v.Kind() == Null || !r.is(v, Array, what) || r.full(v, v.Len()) {
		return nil
	}
	list := make([]Value, 0, v.Len())
	for item := range v.Items() {
		list = append(list, item)
	}
	return list
}

func (r *manifestReader) strings(v Value, what string) []string {
	items := r.array(v, what)
	if len(items) == 0 {
		return nil
	}
	list := make([]string, 0, len(items))
	what = "every item of " + what
	for _, item := range items {
		if r.is(item, String, what) {
			list = append(list, item.Text())
		}
	}
	return list
}

func (r *manifestReader) text(v Value, what string) string {
	if v.Kind() == Null || !r.is(v, String, what) {
		return ""
	}
	return v.Text()
}

func (r *manifestReader) manifest(plugin string, v Value) *Manifest {
	m := newManifest(plugin)
	if set := v.Get("default_permission"); set.Kind() != Null {
		m.Default = r.set("default", set)
	}
	permissions, sets, schema := v.Get("permissions"), v.Get("permission_sets"), v.Get("global_scope_schema")
	if r.is(permissions, Object, "permissions") {
		for id, item := range permissions.Members() {
			if p := r.permission(id.Text(), item); p != nil {
				m.Permissions[id.Text()] = p
			}
		}
	}
	if r.is(sets, Object, "permission_sets") {
		for id, item := range sets.Members() {
			if set := r.set(id.Text(), item); set != nil {
				m.Sets[id.Text()] = set
			}
		}
	}
	if schema.Kind() == Object {
		m.ScopeSchema = schema
	}
	for _, command := range r.strings(v.Get("commands"), "commands") { // after those that are listed
		m.addCommand(command, Version{})
	}
	return m
}

func (r *manifestReader) set(identifier string, v Value) *PermissionSet {
	if !r.is(v, Object, "a permission set") || r.full(v, 1) {
		return nil
	}
	set := &PermissionSet{Identifier: r.identifier(identifier, v),
		Description: r.text(v.Get("description"), "description")}
	permissions := v.Get("permissions")
	if !permissions.Exists() {
		r.fault(v, "the set has no permissions; add such as permissions = [\"allow-read\"]")
	}
	set.Permissions = r.strings(permissions, "permissions")
	if set.Identifier == "" {
		return nil
	}
	return set
}

func (r *manifestReader) permission(identifier string, v Value) *Permission {
	if !r.is(v, Object, "a permission") || r.full(v, 1) {
		return nil
	}
	r.keys(v, "identifier", "description", "commands", "scope", "platforms", "version")
	commands, scope, platforms := r.lists(v, "commands"), r.lists(v, "scope"), v.Get("platforms")
	p := &Permission{
		Identifier:  r.identifier(identifier, v),
		Description: r.text(v.Get("description"), "description"),
		Allow:       r.strings(commands.Get("allow"), "allow"),
		Deny:        r.strings(commands.Get("deny"), "deny"),
		ScopeAllow:  r.array(scope.Get("allow"), "allow"),
		ScopeDeny:   r.array(scope.Get("deny"), "deny"),
	}
	if platforms.Kind() == Array {
		p.Platforms = []Platform{}
	}
	for _, name := range r.strings(platforms, "platforms") {
		p.Platforms = append(p.Platforms, Platform(name))
	}
	if p.Identifier == "" {
		return nil
	}
	return p
}

// lists returns a member of an object that has lists of what is allowed and denied.
func (r *manifestReader) lists(object Value, key string) Value {
	v := object.Get(key)
	if v.Kind() != Null && r.is(v, Object, key) {
		r.keys(v, "allow", "deny")
	}
	return v
}

// identifier returns the key of a permission, or its identifier if it has no key.
func (r *manifestReader) identifier(key string, v Value) string {
	if key != "" {
		return key
	}
	id := v.Get("identifier")
	if !id.Exists() {
		r.fault(v, "the entry has no identifier; add such as identifier = \"allow-read\"")
		return ""
	}
	return r.text(id, "identifier")
}
