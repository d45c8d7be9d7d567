package capability

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"lessonkit.example/capability/internal/syntax"
)

//go:embed schema.json
var schemaText []byte

// Schema returns the JSON Schema (draft 07) of capability files. It accepts the same files as
// [ModeSchema].
func Schema() []byte { return bytes.Clone(schemaText) }

// ProjectSchema returns the schema with the permission identifiers that the manifests contain, each
// with its description, so that editors complete them and report those that do not exist. Scope
// values must match the schema of their plugin.
func ProjectSchema(m *Manifests) []byte {
	definitions := ParseValue(schemaText, Options{}).Root().Get("definitions")
	identifier := definitions.Get("Identifier").Span()
	edits := []Edit{{Start: identifier.Start, End: identifier.End, Text: encode(identifierSchema(m))}}
	if scopes := scopeSchemas(m); len(scopes) > 0 {
		end := definitions.Get("PermissionEntry").Get("anyOf").Item(1).Span().End - 1
		edits = append(edits, Edit{Start: end, End: end, Text: `,"allOf":` + encode(scopes)})
	}
	text, err := Apply(string(schemaText), edits)
	if err != nil {
		panic(err) // the edits are inside the schema
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		panic(err) // all of the text was encoded as JSON
	}
	return b.Bytes()
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // schemas consist of strings, lists and objects
	}
	return string(text)
}

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

func scopeProperties(ref string) object {
	list := object{{"type", []string{"array", "null"}}, {"items", object{{"$ref", ref}}}}
	return object{
		{"allow", append(object{{"description", "What the permission may work on, in the plugin's own terms."}},
			list...)},
		{"deny", append(object{{"description", "What it may not work on; takes precedence over allow."}}, list...)},
	}
}

// scopeSchemas returns, for each plugin with a schema of scope values, the condition that an entry
// of that plugin must match it.
func scopeSchemas(m *Manifests) []object {
	var schemas []object
	for _, plugin := range m.plugins() {
		manifest := m.Get(plugin)
		if !manifest.ScopeSchema.Exists() {
			continue
		}
		// The schema is moved, so its references to itself are moved with it.
		place := fmt.Sprintf("#/definitions/PermissionEntry/anyOf/1/allOf/%d/then/definitions/Scope", len(schemas))
		schemas = append(schemas, object{
			{"if", object{{"properties", object{{"identifier", object{{"pattern", "^" + plugin + ":"}}}}}}},
			{"then", object{{"properties", scopeProperties(place)},
				{"definitions", object{{"Scope", relocated(manifest.ScopeSchema, place)}}}}},
		})
	}
	return schemas
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
	var known []any
	for _, id := range m.Identifiers() {
		one := object{{"type", "string"}, {"const", id}}
		if d := m.Description(id); d != "" {
			one = append(object{{"description", d}}, one...)
		}
		known = append(known, one)
	}
	if len(known) == 0 {
		return object{{"not", object{}}}
	}
	return object{{"oneOf", known}}
}
