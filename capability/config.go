package capability

import (
	"cmp"
	"fmt"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/words"
)

// selection selects the capabilities that a configuration activates.
type selection struct {
	collector
	defined map[string]*Capability // by the files
	names   []string               // of those
	active  []Capability
	last    map[string]int // of each name the place in active that counts
}

// configure selects the capabilities that a configuration activates; see [App.Capabilities].
func configure(config *Document, capabilities []Capability) ([]Capability, Diagnostics) {
	list := configuredList(config)
	if list.Kind() != Array || list.Len() == 0 {
		return capabilities, wrongList(list)
	}
	s := selection{defined: make(map[string]*Capability), active: []Capability{}, last: make(map[string]int)}
	for i := range capabilities {
		s.defined[capabilities[i].Identifier] = &capabilities[i]
		s.names = append(s.names, capabilities[i].Identifier)
	}
	objects := Inlined(config).capabilities
	named := make(map[string]bool)
	for item := range list.Items() {
		switch item.Kind() {
		case String:
			s.activateNamed(item, named[item.Text()])
			named[item.Text()] = true
		case Object:
			if len(objects) > 0 { // beyond the limit there are none
				s.activateObject(item, objects[0])
				objects = objects[1:]
			}
		default:
			s.report(codeWrongType, item,
				fmt.Sprintf("A capability of the configuration must be a name or an object, not %s.", item.Kind()))
		}
	}
	kept := s.active[:0]
	for i, c := range s.active {
		if s.last[c.Identifier] == i {
			kept = append(kept, c)
		}
	}
	s.reportInactive(cmp.Or(config.Name(), "the configuration"), capabilities)
	return kept, s.found.sorted()
}

func (s *selection) activate(c Capability) {
	s.last[c.Identifier] = len(s.active)
	s.active = append(s.active, c)
}

// activateNamed activates the capability that an item names; again means that another item does.
func (s *selection) activateNamed(item Value, again bool) {
	name := item.Text()
	if again {
		s.report(codeDuplicateCapability, item, fmt.Sprintf("The configuration lists the capability %q twice, "+
			"which fails the build; remove one of the two.", name))
		return
	}
	if c := s.defined[name]; c != nil {
		s.activate(*c)
		return
	}
	f := s.report(codeUnknownCapability, item,
		fmt.Sprintf("The configuration refers to a capability %q, which no file defines.", name))
	if f == nil {
		return
	}
	if like := words.Closest(name, s.names); like != "" {
		f.Message = fmt.Sprintf("The configuration refers to a capability %q, which no file defines; did "+
			"you mean %q?", name, like)
	}
}

// activateObject activates the capability that an item contains.
func (s *selection) activateObject(item Value, c Capability) {
	other := s.defined[c.Identifier]
	if _, listed := s.last[c.Identifier]; listed || other != nil {
		where := "the one that is listed before"
		if other != nil && other.value.Exists() {
			where = "the one of that name in " + placeOf(other.value)
		}
		s.report(codeCapabilityOverride, item.Get("identifier").Or(item), fmt.Sprintf("The capability %q of the "+
			"configuration is used instead of %s; give one of them another name.", c.Identifier, where))
	}
	s.activate(c)
}

func (s *selection) reportInactive(config string, capabilities []Capability) {
	for i := range capabilities {
		c := &capabilities[i]
		if _, listed := s.last[c.Identifier]; !listed && c.Identifier != "" && c.value.Exists() {
			s.report(codeInactiveCapability, c.value.Get("identifier").Or(c.value),
				fmt.Sprintf("The capability %q is not active: %s lists capabilities in app.security.capabilities, "+
					"and this one is not among them; add %q there, unless only a configuration that a build is "+
					"given with --config lists it.", c.Identifier, config, c.Identifier))
		}
	}
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

// Inlined returns the capabilities that a configuration contains as objects, in order, as a
// document that can be checked like a file. Positions in it are those in the configuration.
func Inlined(config *Document) *Document {
	// The schema of the configuration contains that of capabilities; it is not applied to TOML.
	d := &Document{text: config.text, bySchema: config.Format() != TOML}
	for item := range configuredList(config).Items() {
		if len(d.capabilities) == limit.Items {
			d.tooMany("capabilities", item)
			break
		}
		if item.Kind() == Object {
			d.capabilities = append(d.capabilities, d.capability(item))
			if d.bySchema { // else a key that is written twice is a fault
				d.duplicateKeys(item, nil)
			}
		}
	}
	return d
}

// configuredList returns the value at app.security.capabilities of a configuration, the zero Value
// if it has none.
func configuredList(config *Document) Value {
	return config.Root().Get("app").Get("security").Get("capabilities")
}

// removesList reports whether a platform's configuration removes the list of active capabilities:
// null there removes what the other configuration has.
func removesList(config *Document) bool {
	v := config.Root()
	for _, key := range []string{"app", "security", "capabilities"} {
		if v = v.Get(key); v.Kind() == Null && v.Exists() {
			return true
		}
	}
	return false
}
