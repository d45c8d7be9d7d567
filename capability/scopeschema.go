package capability

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scopeForm reports scope values that the plugin's own schema refuses: the
// plugin would not read them, or fail at the first call.
func (l *linter) scopeForm(plugin string, e *Entry) {
	m := l.manifests.Get(plugin)
	if m == nil || !m.ScopeSchema.Exists() {
		return
	}
	for _, list := range [][]Value{e.Allow, e.Deny} {
		for _, v := range list {
			if !conforms(v, m.ScopeSchema, m.ScopeSchema, 0) {
				keys := schemaKeys(m.ScopeSchema, m.ScopeSchema, 0)
				slices.Sort(keys)
				l.report(CodeUnusedScope, v, "The schema of the plugin %s refuses this scope value; its values have the keys %s.", plugin, someOf(slices.Compact(keys), 8))
			}
		}
	}
}

// conforms judges a value by the part of JSON Schema draft 07 that plugins'
// scope schemas use. What it does not know it lets pass.
func conforms(v, schema, root Value, depth int) bool {
	if depth > 40 || schema.Kind() == Bool {
		return schema.Kind() != Bool || schema.Bool()
	}
	for key, arg := range schema.Members() {
		ok := true
		switch key.Text() {
		case "$ref":
			target := root.pointer(strings.TrimPrefix(arg.Text(), "#"))
			ok = !target.Exists() || conforms(v, target, root, depth+1)
		case "type":
			ok = hasType(v, arg)
		case "const":
			ok = v.Equal(arg)
		case "enum":
			ok = anyOf(arg, func(item Value) bool { return v.Equal(item) })
		case "anyOf":
			ok = anyOf(arg, func(item Value) bool { return conforms(v, item, root, depth+1) })
		case "oneOf":
			n := 0
			for item := range arg.Items() {
				if conforms(v, item, root, depth+1) {
					n++
				}
			}
			ok = n == 1
		case "allOf":
			for item := range arg.Items() {
				ok = ok && conforms(v, item, root, depth+1)
			}
		case "if":
			if then := schema.Get("then"); then.Exists() && conforms(v, arg, root, depth+1) {
				ok = conforms(v, then, root, depth+1)
			}
		case "required":
			for item := range arg.Items() {
				ok = ok && (v.Kind() != Object || v.Get(item.Text()).Exists())
			}
		case "properties":
			for name, item := range arg.Members() {
				if member := v.Get(name.Text()); member.Exists() {
					ok = ok && conforms(member, item, root, depth+1)
				}
			}
		case "additionalProperties":
			for name, member := range v.Members() {
				if !schema.Get("properties").Get(name.Text()).Exists() {
					ok = ok && conforms(member, arg, root, depth+1)
				}
			}
		case "items":
			for item := range v.Items() {
				ok = ok && (arg.Kind() == Array || conforms(item, arg, root, depth+1))
			}
		case "pattern":
			if re, err := regexp.Compile(arg.Text()); err == nil && v.Kind() == String {
				ok = re.MatchString(v.Text())
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// pointer follows a JSON pointer without escapes.
func (v Value) pointer(pointer string) Value {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if v.Kind() == Array {
			index, err := strconv.Atoi(token)
			if err != nil {
				return Value{}
			}
			v = v.Item(index)
		} else {
			v = v.Get(token)
		}
	}
	return v
}

func anyOf(list Value, ok func(Value) bool) bool {
	for item := range list.Items() {
		if ok(item) {
			return true
		}
	}
	return false
}

// typeNames are the names that JSON Schema has for kinds.
var typeNames = [...]string{Null: "null", Bool: "boolean", Number: "number", String: "string", Array: "array", Object: "object", Date: ""}

func hasType(v, types Value) bool {
	is := func(name Value) bool {
		if name.Text() == "integer" && v.Kind() == Number {
			d, ok := parseDecimal(v.Text())
			return ok && d.exp >= int64(len(d.digits))
		}
		return typeNames[v.Kind()] == name.Text()
	}
	if types.Kind() == Array {
		return anyOf(types, is)
	}
	return is(types)
}

// schemaKeys collects the keys of the objects a schema allows.
func schemaKeys(schema, root Value, depth int) []string {
	var keys []string
	for key := range schema.Get("properties").Members() {
		keys = append(keys, key.Text())
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		for item := range schema.Get(name).Items() {
			if depth < 4 {
				keys = append(keys, schemaKeys(item, root, depth+1)...)
			}
		}
	}
	if ref := schema.Get("$ref").Text(); depth < 4 && strings.HasPrefix(ref, "#/definitions/") {
		keys = append(keys, schemaKeys(root.Get("definitions").Get(strings.TrimPrefix(ref, "#/definitions/")), root, depth+1)...)
	}
	return keys
}
