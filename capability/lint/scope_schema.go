package lint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/words"
)

// scopeForm reports scope values that the plugin's own schema rejects: the plugin ignores them, or
// fails at the first call.
func (l *linter) scopeForm(plugin string, e *capability.Entry) {
	if e.Allow == nil && e.Deny == nil {
		return
	}
	schema := l.scopeSchema(plugin)
	if schema == nil {
		return
	}
	for _, v := range slices.Concat(e.Allow, e.Deny) {
		if schema.Validate(v.Interface()) != nil {
			l.report("scope-mismatch", v,
				"The schema of the plugin %s rejects this scope value; write an object with the keys %s.",
				plugin, words.Some(schema.keys, 8))
		}
	}
}

// scopeSchema is the schema of a plugin's scope values.
type scopeSchema struct {
	*jsonschema.Resolved
	keys []string // of the objects that it accepts
}

// scopeSchema returns the schema of a plugin's scope values, nil if it has none that can be used.
func (l *linter) scopeSchema(plugin string) *scopeSchema {
	if schema, ok := l.schemas[plugin]; ok {
		return schema
	}
	l.schemas[plugin] = nil
	m := l.manifests.Get(plugin)
	if m == nil || !m.ScopeSchema.Exists() {
		return nil
	}
	schema, text := &jsonschema.Schema{Schema: "http://json-schema.org/draft-07/schema#"}, m.ScopeSchema.String()
	if len(text) > maxSchema || json.Unmarshal([]byte(text), schema) != nil {
		return nil
	}
	// What the library has read: it takes keys in upper case too.
	if text, err := json.Marshal(schema); err != nil || !isSmall(capability.ParseValue(text, capability.Options{})) {
		return nil
	}
	known := make(map[string]*jsonschema.Schema) // what objects may have, by the schema or a part of it
	for _, part := range slices.Concat(schema.AnyOf, schema.OneOf, schema.AllOf, []*jsonschema.Schema{schema}) {
		if part != nil && part.Ref != "" {
			part = schema.Definitions[strings.TrimPrefix(part.Ref, "#/definitions/")]
		}
		if part != nil {
			maps.Copy(known, part.Properties)
		}
	}
	keys := slices.Sorted(maps.Keys(known))
	// Alternatives tell editors which keys go together. The plugin shell reads one form with all.
	for _, part := range schema.AnyOf {
		for _, key := range keys {
			if part != nil && part.Properties != nil && part.Properties[key] == nil {
				part.Properties[key] = &jsonschema.Schema{}
			}
		}
	}
	if resolved, err := schema.Resolve(nil); err == nil {
		l.schemas[plugin] = &scopeSchema{resolved, keys}
	}
	return l.schemas[plugin]
}

// maxSchema limits the bytes of a schema, of which real ones have up to 4 kB, and maxExpandedSchema
// its values with the references expanded, of which they have up to 200: the validator follows a
// reference to itself until the stack overflows.
const (
	maxSchema         = 64 << 10
	maxExpandedSchema = 2000
)

// isSmall reports whether a schema is small with its references expanded. One that refers to itself
// is not, nor is one whose references are not JSON pointers.
func isSmall(d *capability.Document) bool {
	if d.Check().HasErrors() {
		return false
	}
	root := d.Root()
	left := maxExpandedSchema
	var expand func(v capability.Value)
	expand = func(v capability.Value) {
		if left--; left < 0 {
			return
		}
		for item := range v.Items() {
			expand(item)
		}
		for key, member := range v.Members() {
			if member.Kind() == capability.String {
				switch key.Text() {
				case "$ref":
					target := at(root, member.Text())
					if !target.Exists() {
						left = -1
					}
					expand(target)
				case "$id", "$dynamicRef", "$recursiveRef":
					left = -1 // they change what references mean
				}
			}
			expand(member)
		}
	}
	expand(root)
	return left >= 0
}

// at returns the value that a reference such as "#/definitions/Entry" is to.
func at(root capability.Value, reference string) capability.Value {
	pointer, ok := strings.CutPrefix(reference, "#")
	if !ok || pointer != "" && pointer[0] != '/' || strings.ContainsAny(pointer, "~%") {
		return capability.Value{}
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer != "" {
			root = root.Get(token)
		}
	}
	return root
}
