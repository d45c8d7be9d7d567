package capability

import (
	"fmt"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/words"
)

// configure selects the capabilities that a configuration activates; see [App.Capabilities].
func configure(config *Document, capabilities []Capability) ([]Capability, Diagnostics) {
	list := configuredList(config)
	if list.Kind() != Array || list.Len() == 0 {
		return capabilities, wrongList(list)
	}
	byName := make(map[string]*Capability)
	var names []string
	for i := range capabilities {
		byName[capabilities[i].Identifier] = &capabilities[i]
		names = append(names, capabilities[i].Identifier)
	}
	objects := Inlined(config).capabilities
	var found Diagnostics
	active := []Capability{}
	listed := make(map[string]bool)
	last := make(map[string]int)
	named := make(map[string]bool)
	activate := func(c Capability) {
		listed[c.Identifier] = true
		last[c.Identifier] = len(active)
		active = append(active, c)
	}
	var findings limit.Findings[Value]
	add := func(code Code, v Value, message string) {
		if findings.Full(string(code), v) {
			return
		}
		f := Diagnostic{Code: code, Severity: ruleOf(code).Severity, Message: message, text: v.text, at: v.span()}
		f.Path = v.Path()
		found = append(found, f)
	}
	for item := range list.Items() {
		switch item.Kind() {
		case String:
			name := item.Text()
			if named[name] {
				add(codeDuplicateCapability, item, fmt.Sprintf("The configuration lists the capability %q twice, "+
					"which fails the build; remove one of the two.", name))
				continue
			}
			named[name] = true
			if c := byName[name]; c != nil {
				activate(*c)
				continue
			}
			message := fmt.Sprintf("The configuration refers to a capability %q, which no file defines.", name)
			like := ""
			if len(found) < limit.Most {
				like = words.Closest(name, names)
			}
			if like != "" {
				message = fmt.Sprintf("The configuration refers to a capability %q, which no file defines; did "+
					"you mean %q?", name, like)
			}
			add(codeUnknownCapability, item, message)
		case Object:
			if len(objects) > 0 { // beyond the limit there are none
				c := objects[0]
				objects = objects[1:]
				if other := byName[c.Identifier]; other != nil || listed[c.Identifier] {
					add(codeCapabilityOverride, item.Get("identifier").Or(item), overrideMessage(c.Identifier, other))
				}
				activate(c)
			}
		default:
			add(codeWrongType, item,
				fmt.Sprintf("A capability of the configuration must be a name or an object, not %s.", item.Kind()))
		}
	}
	kept := active[:0]
	for i, c := range active {
		if last[c.Identifier] == i {
			kept = append(kept, c)
		}
	}
	name := config.Name()
	if name == "" {
		name = "the configuration"
	}
	for i := range capabilities {
		if c := &capabilities[i]; !listed[c.Identifier] && c.value.Exists() {
			add(codeInactiveCapability, c.value.Get("identifier").Or(c.value),
				fmt.Sprintf("The capability %q is not active: %s lists capabilities in app.security.capabilities, "+
					"and this one is not among them; add %q there.", c.Identifier, name, c.Identifier))
		}
	}
	for _, rest := range findings.Rest() {
		found = append(found, unlisted(rest, ruleOf(Code(rest.Rule)).Severity))
	}
	return kept, found.sorted()
}

// wrongList reports a list of active capabilities that is not an array.
func wrongList(list Value) Diagnostics {
	if !list.Exists() || list.Kind() == Array || list.Kind() == Broken {
		return nil
	}
	message := fmt.Sprintf("The configuration's list of capabilities must be an array, not %s.", list.Kind())
	f := NewDiagnostic(list, codeWrongType, Error, message)
	if list.Kind() == String {
		text := list.text.Source()[list.span().Start:list.span().End]
		f.Fix = newFix("Put it into an array", list.span(), "["+text+"]")
	}
	return Diagnostics{f}
}

// overrideMessage says which of two capabilities of one name is used.
func overrideMessage(name string, other *Capability) string {
	where := "the one that is listed before"
	if other != nil && other.value.Exists() {
		where = "the one of that name in " + placeOf(other.value)
	}
	return fmt.Sprintf("The capability %q of the configuration is used instead of %s; give one of them another name.",
		name, where)
}

// Inlined returns the capabilities that a configuration contains as objects, in order, as a
// document that can be checked like a file. Positions in it are those in the configuration.
func Inlined(config *Document) *Document {
	config.inlined.once.Do(func() { config.inlined.doc = inlined(config) })
	return config.inlined.doc
}

func inlined(config *Document) *Document {
	// The schema of the configuration contains that of capabilities; it is not applied to TOML.
	d := &Document{text: config.text, bySchema: config.Format() != TOML}
	for item := range configuredList(config).Items() {
		if len(d.capabilities) == limit.Items {
			d.tooMany("capabilities", item)
			break
		}
		if item.Kind() == Object {
			d.capabilities = append(d.capabilities, d.capability(item, false))
		}
	}
	return d
}

// configuredList returns the value at app.security.capabilities of a configuration, the zero Value
// if it has none.
func configuredList(config *Document) Value {
	return config.Root().Get("app").Get("security").Get("capabilities")
}
