package capability

import (
	"fmt"
	"slices"
	"strings"
)

// decode makes capabilities of the document's values and reports what is
// wrong with their form.
func (d *Document) decode() {
	if len(d.nodes) == 0 {
		return
	}
	switch root := &d.nodes[0]; root.kind {
	case Array:
		d.capabilities = d.list(0, true)
	case Object:
		if list := d.member(0, "capabilities"); list >= 0 {
			d.decodeNamedList(list)
		} else {
			d.capabilities = []Capability{d.capability(0, false)}
		}
	case Broken:
	default:
		d.report(CodeWrongType, 0, fmt.Sprintf(`The file holds %s; it must hold a capability object, an array of them, or {"capabilities": [...]}.`, root.kind))
	}
	d.duplicateKeys()
}

// decodeNamedList reads {"capabilities": [...]}. The reference implementation
// takes every object with that key for a list; the schema also tries it as a
// single capability, so that reading is kept for its verdict.
func (d *Document) decodeNamedList(list int32) {
	before := len(d.found)
	if d.member(0, "identifier") >= 0 && d.member(0, "permissions") >= 0 {
		one := []Capability{d.capability(0, false)}
		d.single = &reading{one, d.found}
		d.found = d.found[:before:before]
	}
	if d.nodes[list].kind != Array {
		d.wrongType(list, "capabilities")
		return
	}
	d.capabilities = d.list(list, false)
}

// member returns the index of an object's member, the last of its name, or -1.
func (d *Document) member(object int32, key string) int32 {
	found := int32(-1)
	end := d.nodes[object].next
	for i := object + 1; i < end; {
		val := d.nodes[i].next
		if d.textOf(i) == key {
			found = val
		}
		i = d.nodes[val].next
	}
	return found
}

func (d *Document) list(n int32, inArray bool) []Capability {
	capabilities := make([]Capability, 0, d.count(n))
	end := d.nodes[n].next
	for i := n + 1; i < end; i = d.nodes[i].next {
		switch kind := d.nodes[i].kind; kind {
		case Object:
			capabilities = append(capabilities, d.capability(i, inArray))
		case Broken:
		default:
			d.report(CodeWrongType, i, fmt.Sprintf("A capability must be an object, not %s.", kind))
		}
	}
	return capabilities
}

func (d *Document) count(n int32) int {
	count := 0
	end := d.nodes[n].next
	for i := n + 1; i < end; i = d.nodes[i].next {
		count++
	}
	return count
}

// The keys of a capability, in the order of capabilityKeys.
const (
	keyIdentifier = iota
	keyDescription
	keyRemote
	keyLocal
	keyWindows
	keyWebviews
	keyPermissions
	keyPlatforms
	keyCount
)

func keyIndex(key string) int {
	switch key {
	case "identifier":
		return keyIdentifier
	case "description":
		return keyDescription
	case "remote":
		return keyRemote
	case "local":
		return keyLocal
	case "windows":
		return keyWindows
	case "webviews":
		return keyWebviews
	case "permissions":
		return keyPermissions
	case "platforms":
		return keyPlatforms
	}
	return -1
}

func (d *Document) capability(n int32, inArray bool) Capability {
	c := Capability{Local: true, value: Value{d, n}}
	var values [keyCount]int32 // of a key written several times, the last one
	end := d.nodes[n].next
	for i := n + 1; i < end; {
		val := d.nodes[i].next
		if key := keyIndex(d.textOf(i)); key >= 0 {
			if values[key] != 0 && inArray {
				d.duplicateField(i)
			}
			values[key] = val
		} else if inArray {
			d.ignore(val)
		}
		i = d.nodes[val].next
	}
	for key, val := range values {
		if val != 0 {
			d.field(&c, key, val, inArray)
		}
	}
	if d.damaged {
		return c
	}
	if values[keyIdentifier] == 0 {
		d.missingKey(n, "identifier", "The capability", `"identifier": "main-capability"`, capabilityKeys)
	}
	if values[keyPermissions] == 0 {
		d.missingKey(n, "permissions", "The capability", `"permissions": ["core:default"]`, capabilityKeys)
	}
	return c
}

// ignore notes a value that the reference implementation passes over without
// looking at its numbers and escapes, as it does with unknown keys in arrays.
func (d *Document) ignore(n int32) {
	if len(d.found) > 0 {
		d.ignored = append(d.ignored, span{d.nodes[n].start, d.nodes[n].end})
	}
}

// missingKey reports a required key that is not there, and the unknown one
// that may have been meant.
func (d *Document) missingKey(n int32, key, owner, example string, known []string) {
	at := span{d.nodes[n].start, d.nodes[n].start + 1}
	f := Diagnostic{Code: CodeMissingField, Message: fmt.Sprintf("%s has no %q; add one, such as %s.", owner, key, example), at: at, Path: Value{d, n}.Path()}
	for k := range (Value{d, n}).Members() {
		if name := k.Text(); !slices.Contains(known, name) && closest(name, known) == key {
			f.Message = fmt.Sprintf("%s has no %q, but a key %q; did you mean %q?", owner, key, name, key)
			nd := d.nodes[k.n]
			f.at = span{nd.start, nd.end}
			f.Fix = &Fix{Title: fmt.Sprintf("Rename it to %q", key), Edits: []Edit{{Start: int(nd.start), End: int(nd.end), Text: d.quoteLike(k.n, key)}}, Guess: true}
		}
	}
	d.add(f)
}

// quoteLike writes a key in quotes where the old one had some.
func (d *Document) quoteLike(n int32, text string) string {
	if nd := d.nodes[n]; nd.end > nd.start && d.src[nd.start] != '"' && d.src[nd.start] != '\'' {
		return text
	}
	return string(appendQuoted(nil, text))
}

var capabilityKeys = []string{"identifier", "description", "remote", "local", "windows", "webviews", "permissions", "platforms"}

func (d *Document) field(c *Capability, key int, n int32, inArray bool) {
	switch name := capabilityKeys[key]; key {
	case keyIdentifier:
		if d.is(n, String, name) {
			c.Identifier = d.textOf(n)
		}
	case keyDescription:
		if d.is(n, String, name) {
			c.Description = d.textOf(n)
		}
	case keyLocal:
		if d.is(n, Bool, name) {
			c.Local = d.textOf(n) == "true"
		}
	case keyWindows:
		c.Windows = d.strings(n, name)
	case keyWebviews:
		c.Webviews = d.strings(n, name)
	case keyRemote:
		d.remote(c, n, inArray)
	case keyPlatforms:
		d.platforms(c, n)
	case keyPermissions:
		if d.is(n, Array, name) {
			c.Permissions = d.permissions(n, inArray)
		}
	}
}

func (d *Document) is(n int32, kind Kind, key string) bool {
	if d.nodes[n].kind == kind {
		return true
	}
	d.wrongType(n, key)
	return false
}

// expectations says of every key what its value must be, with an example.
var expectations = map[string]string{
	"identifier":   `a string, such as "main-capability"`,
	"description":  "a string",
	"local":        "true or false",
	"windows":      `an array of window labels, such as ["main"]`,
	"webviews":     `an array of webview labels, such as ["main"]`,
	"remote":       `an object, such as {"urls": ["https://*.example.com"]}`,
	"urls":         `an array of URL patterns, such as ["https://*.example.com"]`,
	"platforms":    `an array, such as ["linux", "macOS", "windows"]`,
	"permissions":  `an array, such as ["core:default"]`,
	"capabilities": "an array of capabilities",
	"allow":        "an array of scope values",
	"deny":         "an array of scope values",
}

func (d *Document) wrongType(n int32, key string) {
	nd := d.nodes[n]
	if nd.kind == Broken {
		return
	}
	f := Diagnostic{Code: CodeWrongType, at: span{nd.start, nd.end}}
	f.Message = fmt.Sprintf("%q must be %s, not %s.", key, expectations[key], nd.kind)
	if wantsArray := strings.HasPrefix(expectations[key], "an array"); nd.kind == String && wantsArray && key != "capabilities" {
		text := "[" + d.src[nd.start:nd.end] + "]"
		f.Message = fmt.Sprintf("%q must be an array, not a string; write %s.", key, quoteCode(text))
		f.Fix = &Fix{Title: "Put it into an array", Edits: []Edit{{Start: int(nd.start), End: int(nd.end), Text: text}}}
	} else if nd.kind == Null {
		f.Message = fmt.Sprintf("%q must not be null; it must be %s, or be left out.", key, expectations[key])
		if key == "identifier" || key == "permissions" || key == "urls" || key == "capabilities" {
			f.Message = fmt.Sprintf("%q must not be null; it must be %s.", key, expectations[key])
		}
	}
	d.add(f)
}

// quoteCode shortens a piece of a file that is shown as what to write.
func quoteCode(s string) string {
	if len(s) > 60 || strings.ContainsAny(s, "\r\n") {
		return "it in brackets"
	}
	return s
}

func (d *Document) report(code Code, n int32, message string) {
	nd := d.nodes[n]
	d.add(Diagnostic{Code: code, Message: message, at: span{nd.start, nd.end}})
}

// strings reads an array of strings.
func (d *Document) strings(n int32, key string) []string {
	if !d.is(n, Array, key) {
		return nil
	}
	list := make([]string, 0, d.count(n))
	end := d.nodes[n].next
	for i := n + 1; i < end; i = d.nodes[i].next {
		switch kind := d.nodes[i].kind; kind {
		case String:
			list = append(list, d.textOf(i))
		case Broken:
		default:
			d.report(CodeWrongType, i, fmt.Sprintf("Every item of %q must be a string, not %s.", key, kind))
		}
	}
	return list
}

func (d *Document) remote(c *Capability, n int32, inArray bool) {
	if kind := d.nodes[n].kind; kind == Null {
		return
	} else if kind != Object {
		d.wrongType(n, "remote")
		return
	}
	urls := d.member(n, "urls")
	if urls < 0 {
		if !d.damaged {
			d.missingKey(n, "urls", `"remote"`, `"urls": ["https://*.example.com"]`, []string{"urls"})
		}
		return
	}
	c.Remote = d.strings(urls, "urls")
	if !inArray {
		return
	}
	d.duplicateFields(n, "urls")
	for key, value := range (Value{d, n}).Members() {
		if key.Text() != "urls" {
			d.ignore(value.n)
		}
	}
}

func (d *Document) platforms(c *Capability, n int32) {
	if kind := d.nodes[n].kind; kind == Null {
		return
	} else if kind != Array {
		d.wrongType(n, "platforms")
		return
	}
	c.Platforms = make([]Platform, 0, d.count(n))
	end := d.nodes[n].next
	for i := n + 1; i < end; i = d.nodes[i].next {
		kind := d.nodes[i].kind
		if kind != String {
			if kind != Broken {
				d.report(CodeWrongType, i, fmt.Sprintf("Every item of \"platforms\" must be a string, not %s.", kind))
			}
			continue
		}
		switch p := Platform(d.textOf(i)); p {
		case MacOS, Windows, Linux, Android, IOS:
			c.Platforms = append(c.Platforms, p)
		default:
			// Kept, so that the capability is not taken for one without platforms.
			c.Platforms = append(c.Platforms, p)
			d.unknownPlatform(i, string(p))
		}
	}
}

func (d *Document) unknownPlatform(n int32, name string) {
	nd := d.nodes[n]
	f := Diagnostic{Code: CodeUnknownPlatform, at: span{nd.start, nd.end}}
	f.Message = fmt.Sprintf("There is no platform %s; there are linux, macOS, windows, android and iOS.", quoteShort(name))
	if meant := PlatformNamed(name); meant != "" {
		f.Message = fmt.Sprintf("There is no platform %s; did you mean %q?", quoteShort(name), meant)
		text := string(appendQuoted(nil, string(meant)))
		f.Fix = &Fix{Title: "Write " + text, Edits: []Edit{{Start: int(nd.start), End: int(nd.end), Text: text}}, Guess: !strings.EqualFold(name, string(meant))}
	}
	d.add(f)
}

// PlatformNamed returns the platform that a name in any spelling stands for
// ("macos", "darwin", "win32"), or "" where it stands for none. Files must
// spell platforms exactly; this is for command lines and suggestions.
func PlatformNamed(name string) Platform {
	switch strings.ToLower(name) {
	case "darwin", "mac", "osx", "macosx", "mac-os":
		return MacOS
	case "win", "win32", "win64":
		return Windows
	case "ipados", "iphone", "ipad":
		return IOS
	}
	known := make([]string, 0, 5)
	for _, p := range Platforms() {
		if strings.EqualFold(string(p), name) {
			return p
		}
		known = append(known, string(p))
	}
	return Platform(closest(name, known))
}
