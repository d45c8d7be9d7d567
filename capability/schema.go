package capability

import (
	"encoding/json"
	"strconv"
	"strings"

	"lessonkit.example/capability/internal/syntax"
)

// Schema returns the JSON Schema (draft 07) of capability files. It accepts the
// same files as [ModeSchema].
func Schema() []byte { return encodeSchema(schemaOf(nil)) }

// ProjectSchema returns the schema with the permission identifiers that the
// manifests contain, each with its description, so that editors complete them and
// report those that do not exist. Scope values must match the schema of
// their plugin.
func ProjectSchema(m *Manifests) []byte { return encodeSchema(schemaOf(m)) }

// object keeps the order of its members, unlike a map.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	dst := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(syntax.AppendQuoted(dst, m.key), ':')
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		dst = append(dst, value...)
	}
	return append(dst, '}'), nil
}

func encodeSchema(o object) []byte {
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		panic(err) // all of it is made here
	}
	return append(text, '\n')
}

func ref(name string) object { return object{{"$ref", "#/definitions/" + name}} }

func described(description string, o ...member) object {
	return append(object{{"description", description}}, o...)
}

func arrayOf(items any) []member { return []member{{"type", "array"}, {"items", items}} }

func schemaOf(m *Manifests) object {
	text := object{{"type", "string"}}
	listed := object{{"type", "object"}, {"required", []string{"capabilities"}}, {"properties", object{
		{"capabilities", described("The capabilities of the file.", arrayOf(ref("Capability"))...)}}}}
	capability := described("Grants windows and webviews access to commands.", member{"type", "object"},
		member{"required", []string{"identifier", "permissions"}}, member{"properties", object{
			{"identifier", described("Name of the capability.", text...)},
			{"description", described("What the permissions are for.", member{"default", ""}, text[0])},
			{"remote", described("Remote pages that may use the permissions.",
				member{"anyOf", []any{ref("CapabilityRemote"), object{{"type", "null"}}}})},
			{"local", described("Whether the application's own pages may use the permissions.",
				member{"default", true}, member{"type", "boolean"})},
			{"windows", described("Labels of windows, or glob patterns of them.", arrayOf(text)...)},
			{"webviews", described("Labels of webviews, or glob patterns of them.", arrayOf(text)...)},
			{"permissions", described("Permissions granted and denied; a denial takes precedence.",
				append(arrayOf(ref("PermissionEntry")), member{"uniqueItems", true})...)},
			{"platforms", described("Platforms the capability is for; all of them if it is left out.",
				member{"type", []string{"array", "null"}}, member{"items", ref("Target")})},
		}})
	var targets []any
	for _, p := range Platforms() {
		targets = append(targets, object{{"type", "string"}, {"enum", []string{string(p)}}})
	}
	definitions := object{
		{"Capability", capability},
		{"CapabilityRemote", object{{"type", "object"}, {"required", []string{"urls"}}, {"properties", object{
			{"urls", described("URL patterns, such as https://*.example.com.", arrayOf(text)...)}}}}},
		{"PermissionEntry", entrySchema(m)},
		{"Identifier", identifierSchema(m)},
		{"Target", object{{"oneOf", targets}}},
		{"Value",
			object{{"anyOf", []any{object{{"type", "null"}}, object{{"type", "boolean"}}, object{{"type", "number"}},
				text,
				object(arrayOf(ref("Value"))), object{{"type", "object"}, {"additionalProperties", ref("Value")}}}}}},
	}
	return object{
		{"$schema", "http://json-schema.org/draft-07/schema#"},
		{"title", "CapabilityFile"},
		{"anyOf", []any{ref("Capability"), object(arrayOf(ref("Capability"))), listed}},
		{"definitions", definitions},
	}
}

func scopeProperties(value any) object {
	list := object{{"type", []string{"array", "null"}}, {"items", value}}
	return object{
		{"allow", append(object{{"description", "What the permission may work on, in the plugin's own terms."}},
			list...)},
		{"deny", append(object{{"description", "What it may not work on; takes precedence over allow."}}, list...)},
	}
}

// entrySchema describes an entry of permissions. In a project's schema the
// scope of each plugin that has a schema must match it.
func entrySchema(m *Manifests) object {
	entry := object{{"type", "object"}, {"required", []string{"identifier"}},
		{"properties", append(object{{"identifier", ref("Identifier")}}, scopeProperties(ref("Value"))...)}}
	if m != nil {
		var branches []any
		for _, plugin := range m.plugins() {
			manifest := m.Get(plugin)
			if !manifest.ScopeSchema.Exists() {
				continue
			}
			// The schema is moved, so its references to itself are moved with it.
			place := "#/definitions/PermissionEntry/anyOf/1/allOf/" + strconv.Itoa(len(branches)) +
				"/then/definitions/Scope"
			branches = append(branches, object{
				{"if", object{{"properties", object{{"identifier", object{{"pattern", "^" + plugin + ":"}}}}}}},
				{"then", object{{"properties", scopeProperties(object{{"$ref", place}})},
					{"definitions", object{{"Scope", relocated(manifest.ScopeSchema, place)}}}}},
			})
		}
		if len(branches) > 0 {
			entry = append(entry, member{"allOf", branches})
		}
	}
	return object{{"anyOf", []any{ref("Identifier"), entry}}}
}

// relocated copies a schema and makes its references start from a new place.
func relocated(schema Value, root string) any {
	switch schema.Kind() {
	case syntax.Object:
		o := object{}
		for key, val := range schema.Members() {
			switch name := key.Text(); {
			case name == "$schema":
			case name == "$ref" && strings.HasPrefix(val.Text(), "#"):
				o = append(o, member{name, root + strings.TrimPrefix(val.Text(), "#")})
			default:
				o = append(o, member{name, relocated(val, root)})
			}
		}
		return o
	case syntax.Array:
		list := []any{}
		for item := range schema.Items() {
			list = append(list, relocated(item, root))
		}
		return list
	}
	text, _ := schema.MarshalJSON()
	return json.RawMessage(text)
}

func identifierSchema(m *Manifests) object {
	if m == nil {
		return object{{"description",
			"<plugin>:<permission>, or the name of one of the application's own permissions."}, {"type", "string"}}
	}
	var known []any
	for _, id := range m.Identifiers() {
		one := object{{"type", "string"}, {"const", id}}
		if d := m.describe(id); d != "" {
			one = append(object{{"description", d}}, one...)
		}
		known = append(known, one)
	}
	if len(known) == 0 {
		return object{{"not", object{}}}
	}
	return object{{"oneOf", known}}
}

// describe returns the description of a permission or set.
func (m *Manifests) describe(identifier string) string {
	plugin, name := splitIdentifier(identifier)
	manifest := m.Get(plugin)
	switch {
	case manifest == nil:
		return ""
	case name == "default" && manifest.Default != nil:
		return manifest.Default.Description
	case manifest.Sets[name] != nil:
		return manifest.Sets[name].Description
	}
	if p := manifest.permission(name); p != nil {
		return p.Description
	}
	return ""
}
