package capability

import "fmt"

// Configure applies what an application's configuration says about its
// capabilities, at app.security.capabilities of tauri.conf.json. Where it lists
// none, all are active. Where it lists some, by name or as whole objects, only
// those are: the others come back as diagnostics, and so do names that do not
// exist. Give a configuration read by [ParseValue].
func Configure(config *Document, capabilities []Capability) ([]Capability, Diagnostics) {
	list := config.Root().Get("app").Get("security").Get("capabilities")
	if list.Kind() != Array || list.Len() == 0 {
		return capabilities, nil
	}
	byName := make(map[string]*Capability)
	var names []string
	for i := range capabilities {
		byName[capabilities[i].Identifier] = &capabilities[i]
		names = append(names, capabilities[i].Identifier)
	}
	// Faults of inlined capabilities must not change the document.
	inlined := &Document{name: config.name, format: config.format, src: config.src, nodes: config.nodes, text: config.text}
	var found Diagnostics
	active := []Capability{}
	listed := make(map[string]bool)
	add := func(code Code, v Value, message string) {
		nd := v.doc.nodes[v.n]
		found = append(found, Diagnostic{Code: code, Severity: ruleOf(code).Lint, Message: message, doc: v.doc, at: span{nd.start, nd.end}, Path: v.Path()})
	}
	for item := range list.Items() {
		switch item.Kind() {
		case String:
			name := item.Text()
			listed[name] = true
			if c := byName[name]; c != nil {
				active = append(active, *c)
				continue
			}
			message := fmt.Sprintf("The configuration refers to a capability %q, which no file defines.", name)
			if like := closest(name, names); like != "" {
				message = fmt.Sprintf("The configuration refers to a capability %q, which no file defines; did you mean %q?", name, like)
			}
			add(CodeUnknownCapability, item, message)
		case Object:
			c := inlined.capability(item.n, false)
			listed[c.Identifier] = true
			active = append(active, c)
		default:
			add(CodeWrongType, item, fmt.Sprintf("A capability of the configuration must be a name or an object, not %s.", item.Kind()))
		}
	}
	found = append(found, inlined.Check(ModeLint)...)
	name := config.name
	if name == "" {
		name = "the configuration"
	}
	for i := range capabilities {
		if c := &capabilities[i]; !listed[c.Identifier] && c.value.Exists() {
			add(CodeInactiveCapability, c.at("identifier"), fmt.Sprintf("The capability %q is not active: %s lists capabilities in app.security.capabilities, and this one is not among them; add %q there.", c.Identifier, name, c.Identifier))
		}
	}
	return active, found.sorted()
}
