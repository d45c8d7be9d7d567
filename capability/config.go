package capability

import "fmt"

// Configure applies what an application's configuration says about its
// capabilities, at app.security.capabilities of tauri.conf.json. Where it lists
// none, all are active. Where it lists some, by name or as whole objects, only
// those are, and of two with one name the one listed last: the others come back
// as diagnostics, and so do names that do not exist. What is wrong inside the
// objects is told by [Inlined]. Give a configuration read by [ParseValue].
func Configure(config *Document, capabilities []Capability) ([]Capability, Diagnostics) {
	list := configured(config)
	if list.Kind() != Array || list.Len() == 0 {
		return capabilities, nil
	}
	byName := make(map[string]*Capability)
	var names []string
	for i := range capabilities {
		byName[capabilities[i].Identifier] = &capabilities[i]
		names = append(names, capabilities[i].Identifier)
	}
	inlined := Inlined(config).capabilities
	var found Diagnostics
	active := []Capability{}
	listed := make(map[string]bool)
	last := make(map[string]int)
	activate := func(c Capability) {
		listed[c.Identifier] = true
		last[c.Identifier] = len(active)
		active = append(active, c)
	}
	add := func(code Code, v Value, message string) {
		nd := v.doc.nodes[v.n]
		found = append(found, Diagnostic{Code: code, Severity: ruleOf(code).Lint, Message: message, doc: v.doc, at: span{nd.start, nd.end}, Path: v.Path()})
	}
	for item := range list.Items() {
		switch item.Kind() {
		case String:
			name := item.Text()
			if c := byName[name]; c != nil {
				activate(*c)
				continue
			}
			message := fmt.Sprintf("The configuration refers to a capability %q, which no file defines.", name)
			if like := closest(name, names); like != "" {
				message = fmt.Sprintf("The configuration refers to a capability %q, which no file defines; did you mean %q?", name, like)
			}
			add(CodeUnknownCapability, item, message)
		case Object:
			activate(inlined[0])
			inlined = inlined[1:]
		default:
			add(CodeWrongType, item, fmt.Sprintf("A capability of the configuration must be a name or an object, not %s.", item.Kind()))
		}
	}
	kept := active[:0]
	for i, c := range active {
		if last[c.Identifier] == i {
			kept = append(kept, c)
		}
	}
	name := config.name
	if name == "" {
		name = "the configuration"
	}
	for i := range capabilities {
		if c := &capabilities[i]; !listed[c.Identifier] && c.value.Exists() {
			add(CodeInactiveCapability, c.at("identifier"), fmt.Sprintf("The capability %q is not active: %s lists capabilities in app.security.capabilities, and this one is not among them; add %q there.", c.Identifier, name, c.Identifier))
		}
	}
	return kept, found.sorted()
}

// Inlined returns the capabilities that a configuration holds as whole objects,
// in their order, as a document of their own: check it like a file. Places in
// it are those of the configuration.
func Inlined(config *Document) *Document {
	d := &Document{name: config.name, format: config.format, src: config.src, nodes: config.nodes, text: config.text}
	for item := range configured(config).Items() {
		if item.Kind() == Object {
			d.capabilities = append(d.capabilities, d.capability(item.n, false))
		}
	}
	return d
}

func configured(config *Document) Value {
	return config.Root().Get("app").Get("security").Get("capabilities")
}
