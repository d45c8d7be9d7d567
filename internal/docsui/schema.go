package docsui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// typeText is a schema's type in words, and the name of the schema that it
// refers to, if it does: "array of Segment".
func (d *document) typeText(s *schema) (text, link string) {
	if s == nil || s.any {
		return "any", ""
	}
	if s.Ref != "" {
		name := refName(s.Ref)
		if _, ok := d.Components.Schemas.values[name]; ok {
			return name, name
		}
		return name, ""
	}
	for _, group := range [][]*schema{s.AllOf, s.OneOf, s.AnyOf} {
		if len(group) == 0 {
			continue
		}
		var parts []string
		for _, g := range group {
			t, l := d.typeText(g)
			if l != "" && link == "" {
				link = l
			}
			if !slices.Contains(parts, t) {
				parts = append(parts, t)
			}
		}
		return strings.Join(parts, " or "), link
	}
	var types []string
	for _, t := range s.Type {
		switch {
		case t == "array" && s.Items != nil:
			of, l := d.typeText(s.Items)
			types, link = append(types, "array of "+of), l
		case t == "string" && (s.Format == "binary" || s.Binary != ""):
			types = append(types, "file")
		case t != "null" && s.Format != "":
			types = append(types, t+" ("+s.Format+")")
		default:
			types = append(types, t)
		}
	}
	if s.Nullable && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	if len(types) == 0 {
		if len(s.Properties.keys) > 0 {
			return "object", link
		}
		return "any", link
	}
	return strings.Join(types, " or "), link
}

// limits lists what a schema demands beyond its type.
func limits(s *schema) []string {
	if s == nil {
		return nil
	}
	var out []string
	add := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	between := func(low, high, unit string) {
		switch {
		case low != "" && high != "":
			add("%s to %s%s", low, high, unit)
		case low != "":
			add("at least %s%s", low, unit)
		case high != "":
			add("at most %s%s", high, unit)
		}
	}
	between(number(s.MinLength), number(s.MaxLength), " characters")
	between(number(s.MinItems), number(s.MaxItems), " items")
	between(numeral(s.Minimum), numeral(s.Maximum), "")
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, string(v))
		}
		add("one of %s", strings.Join(values, ", "))
	}
	if s.Const != nil {
		add("always %s", s.Const)
	}
	if s.Pattern != "" {
		add("matches %s", s.Pattern)
	}
	if s.Default != nil {
		add("default %s", s.Default)
	}
	if s.ReadOnly {
		add("read only")
	}
	if s.Deprecated {
		add("deprecated")
	}
	return out
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func numeral(n *json.Number) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// properties are an object's, those of its allOf parts among them. Within names
// the schemas that are being looked at, which end a ring.
func (d *document) properties(s *schema, within ...string) (props ordered[*schema], required []string) {
	if s != nil && s.Ref != "" {
		if slices.Contains(within, s.Ref) {
			return props, nil
		}
		within = append(slices.Clip(within), s.Ref)
	}
	if s = d.resolve(s); s == nil || len(within) > 20 {
		return props, nil
	}
	if len(s.AllOf) == 0 {
		return s.Properties, s.Required
	}
	props.values = map[string]*schema{}
	take := func(from ordered[*schema], names []string) {
		for _, k := range from.keys {
			if _, ok := props.values[k]; !ok {
				props.keys = append(props.keys, k)
			}
			props.values[k] = from.values[k]
		}
		required = append(required, names...)
	}
	for _, part := range s.AllOf {
		take(d.properties(part, within...))
	}
	take(s.Properties, s.Required)
	return props, required
}

// sampleDepth is how deep samples go; deeper values are left empty.
const sampleDepth = 6

// sample is a value that a schema might describe: its example, its default, or
// one made up from its type. Its members are in the order of the document; those
// that would repeat a schema inside itself (open holds the names) are left out.
func (d *document) sample(s *schema, open ...string) json.RawMessage {
	if s != nil && s.Ref != "" {
		open = append(slices.Clip(open), s.Ref)
	} else {
		open = append(slices.Clip(open), "")
	}
	s = d.resolve(s)
	if s == nil || len(open) > sampleDepth {
		return json.RawMessage("null")
	}
	switch {
	case s.Example != nil:
		return s.Example
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Const != nil:
		return s.Const
	case s.Default != nil && string(s.Default) != "null":
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.OneOf) > 0:
		return d.sample(s.OneOf[0], open...)
	case len(s.AnyOf) > 0:
		return d.sample(s.AnyOf[0], open...)
	}
	props, _ := d.properties(s)
	switch {
	case len(props.keys) > 0:
		var members []string
		for _, k := range props.keys {
			p := props.values[k]
			if p != nil && (p.ReadOnly || d.repeats(p, open)) {
				continue
			}
			name, _ := json.Marshal(k)
			members = append(members, string(name)+":"+string(d.sample(p, open...)))
		}
		return json.RawMessage("{" + strings.Join(members, ",") + "}")
	case s.Type.has("array"):
		if s.Items == nil || len(open) == sampleDepth || d.repeats(s.Items, open) {
			return json.RawMessage("[]")
		}
		return json.RawMessage("[" + string(d.sample(s.Items, open...)) + "]")
	case s.Type.has("object"):
		return json.RawMessage("{}")
	case s.Type.has("integer"), s.Type.has("number"):
		if s.Minimum != nil {
			return json.RawMessage(s.Minimum.String())
		}
		return json.RawMessage("1")
	case s.Type.has("boolean"):
		return json.RawMessage("true")
	case s.Type.has("string"):
		text, _ := json.Marshal(sampleText(s.Format))
		return text
	}
	return json.RawMessage("null")
}

// repeats reports whether a schema is one of those that hold it.
func (*document) repeats(s *schema, open []string) bool {
	return s.Ref != "" && slices.Contains(open, s.Ref)
}

func sampleText(format string) string {
	switch format {
	case "date":
		return "2026-09-01"
	case "date-time":
		return "2026-09-01T08:00:00Z"
	case "uuid":
		return "01890a5d-ac96-774b-bcce-b302099a8057"
	case "uri", "url":
		return "https://example.org/"
	case "email":
		return "somebody@example.org"
	}
	return "text"
}
