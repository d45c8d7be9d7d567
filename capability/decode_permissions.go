package capability

import (
	"fmt"
	"slices"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/syntax"
	"lessonkit.example/capability/internal/words"
)

// permissions reads the entries of a capability.
func (d *Document) permissions(v Value) []Entry {
	entries := make([]Entry, 0, v.Len())
	for item := range v.Items() {
		switch item.Kind() {
		case String:
			entries = append(entries, Entry{Identifier: d.permissionIdentifier(item), value: item})
		case Object:
			entries = append(entries, d.entry(item))
		case Broken:
		default:
			d.report(codeWrongType, item, fmt.Sprintf(`A permission must be a string, such as "core:default", `+
				`or an object with "identifier", not %s.`, item.Kind()))
		}
	}
	d.duplicatePermissions(entries)
	return entries
}

// permissionIdentifier returns an identifier. It reports one that is not well-formed, with the one
// of which it is probably a misspelling.
func (d *Document) permissionIdentifier(v Value) string {
	text := v.Text()
	err := checkIdentifier(text)
	if err == nil {
		return text
	}
	if ofRule(d.found, codeIdentifierSyntax) > limit.PerRule {
		return text
	}
	f := Diagnostic{Code: codeIdentifierSyntax, at: v.span()}
	f.Message = fmt.Sprintf("%s is not a permission identifier: %s.", words.Quote(text), err)
	if suggestion := repairIdentifier(text); suggestion != "" && suggestion != text {
		f.Message = fmt.Sprintf("%s is not a permission identifier: %s; did you mean %q?", words.Quote(text), err,
			suggestion)
		f.Fix = v.Replace(suggestion)
		f.Fix.Guess = true
	}
	d.add(f)
	return text
}

func (d *Document) entry(v Value) Entry {
	e := Entry{value: v}
	if id := v.Get("identifier"); !id.Exists() {
		d.missingKey(v, "identifier", "The permission", `"identifier": "fs:allow-exists"`, syntax.EntryKeys)
	} else if d.is(id, String, "identifier") {
		e.Identifier = d.permissionIdentifier(id)
	}
	e.Allow = d.scope(v.Get("allow"), "allow")
	e.Deny = d.scope(v.Get("deny"), "deny")
	return e
}

func (d *Document) scope(v Value, key string) []Value {
	if v.Kind() == Null || !d.is(v, Array, key) {
		return nil
	}
	values := make([]Value, 0, v.Len())
	for item := range v.Items() {
		if item.Kind() != Broken {
			values = append(values, item)
		}
	}
	if d.Format() == TOML {
		d.dates(v)
	}
	return values
}

// dates reports the dates in a scope, which only TOML can write.
func (d *Document) dates(v Value) {
	if v.Kind() == Date {
		d.report(codeUnsupportedScope, v, fmt.Sprintf("The date %s reaches the plugin as an object, not as a string; "+
			"write it in quotes.", v.Text()))
	}
	for item := range v.Items() {
		d.dates(item)
	}
	for _, member := range v.Members() {
		d.dates(member)
	}
}

// duplicatePermissions reports the entries that are equal to a previous one, together.
func (d *Document) duplicatePermissions(entries []Entry) {
	first := make(map[string]int, len(entries))
	var again []Value
	var names []string
	var related []Place
	message := ""
	for i := range entries {
		e := &entries[i]
		key := e.value.Canonical()
		before, ok := first[key]
		if !ok {
			first[key] = i
			continue
		}
		if len(again) == limit.PerRule {
			break
		}
		what := fmt.Sprintf("%q", e.Identifier)
		if e.value.Kind() == Object {
			what += " with the same scope"
		}
		start := entries[before].value.Position()
		if len(again) == 0 {
			message = fmt.Sprintf("The permission %s is already listed in line %d; remove one of the two.", what,
				start.Line)
		} else {
			related = append(related, Place{File: d.Name(), Start: e.value.Position(), Message: what})
		}
		again = append(again, e.value)
		if !slices.Contains(names, what) {
			names = append(names, what)
		}
		related = append(related, Place{File: d.Name(), Start: start, Message: what + " is listed here first"})
	}
	if len(again) == 0 {
		return
	}
	title := "Remove the second one"
	if len(again) > 1 {
		title = "Remove the second ones"
		message = fmt.Sprintf("%s must be listed only once; remove the others.", words.Some(names, 8))
	}
	d.add(Diagnostic{Code: codeDuplicatePermission, Message: message, at: again[0].span(), Related: related,
		Fix: RemoveItems(title, again...)})
}

// keysInside are those of the objects that some keys of a capability have.
var keysInside = map[string][]string{"remote": {"urls"}, "permissions": syntax.EntryKeys}

// duplicateKeys reports the keys that occur twice in an object, or in one inside it. The reference
// implementation rejects those in keys, which are the format's own in an array of capabilities.
func (d *Document) duplicateKeys(v Value, keys []string) {
	for item := range v.Items() {
		d.duplicateKeys(item, keys)
	}
	if v.Kind() != Object {
		return
	}
	first := make(map[string]Value, v.Len())
	for key, member := range v.Members() {
		name := key.Text()
		rejected := slices.Contains(keys, name)
		var inside []string
		if rejected {
			inside = keysInside[name]
		}
		d.duplicateKeys(member, inside)
		if before, ok := first[name]; !ok {
			first[name] = key
		} else if rejected {
			d.report(codeDuplicateField, key, fmt.Sprintf("The key %q occurs twice, which is an error in an array of "+
				"capabilities; remove one of the two.", name))
		} else {
			d.duplicateKey(before, key)
		}
	}
}

func (d *Document) duplicateKey(before, again Value) {
	start := before.Position()
	d.add(Diagnostic{
		Code: codeDuplicateKey,
		Message: fmt.Sprintf("The key %q already occurs in line %d, and only the last one counts; remove one of "+
			"the two.",
			again.Text(), start.Line),
		at:      again.span(),
		Related: []Place{{File: d.Name(), Start: start, Message: "first occurrence"}},
	})
}
