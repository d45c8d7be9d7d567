package capability

import (
	"fmt"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/syntax"
	"lessonkit.example/capability/internal/words"
)

// decode reads the capabilities from the document's values and reports what is wrong with their
// form.
func (d *Document) decode() {
	switch root := d.Root(); root.Kind() {
	case Array:
		d.capabilities = d.list(root)
	case Object:
		// An object with that key is a list, whatever else it has.
		if list := root.Get("capabilities"); !list.Exists() {
			d.capabilities = []Capability{d.capability(root)}
		} else if d.is(list, Array, "capabilities") {
			d.capabilities = d.list(list)
		}
	case Broken:
	default:
		d.report(codeWrongType, root, fmt.Sprintf(`The file contains %s; it must contain a capability object, `+
			`an array of them, or {"capabilities": [...]}.`, root.Kind()))
	}
	if d.Format() != TOML { // there a key that is written twice is a fault
		var keys []string
		if d.Root().Kind() == Array {
			keys = syntax.CapabilityKeys
		}
		d.duplicateKeys(d.Root(), keys)
	}
}

func (d *Document) list(v Value) []Capability {
	var capabilities []Capability
	for item := range v.Items() {
		if len(capabilities) == limit.Items {
			d.tooMany("capabilities", item)
			break
		}
		switch item.Kind() {
		case Object:
			capabilities = append(capabilities, d.capability(item))
		case Broken:
		default:
			d.report(codeWrongType, item, fmt.Sprintf("A capability must be an object, not %s.", item.Kind()))
		}
	}
	return capabilities
}

func (d *Document) capability(v Value) Capability {
	c := Capability{Local: true, value: v}
	if id := v.Get("identifier"); !id.Exists() {
		d.missingKey(v, "identifier", "The capability", `"identifier": "main-capability"`, syntax.CapabilityKeys)
	} else if d.is(id, String, "identifier") {
		c.Identifier = id.Text()
	}
	if text := v.Get("description"); d.is(text, String, "description") {
		c.Description = text.Text()
	}
	if local := v.Get("local"); d.is(local, Bool, "local") {
		c.Local = local.Bool()
	}
	d.remote(&c, v.Get("remote"))
	c.Windows = d.strings(v.Get("windows"), "windows")
	c.Webviews = d.strings(v.Get("webviews"), "webviews")
	if list := v.Get("permissions"); !list.Exists() {
		d.missingKey(v, "permissions", "The capability", `"permissions": ["core:default"]`, syntax.CapabilityKeys)
	} else if d.is(list, Array, "permissions") {
		c.Permissions = d.permissions(list)
	}
	d.platforms(&c, v.Get("platforms"))
	return c
}

// missingKey reports a required key that is missing, and the unknown one that probably is a
// misspelling of it. In a damaged text it may not be missing.
func (d *Document) missingKey(v Value, key, owner, example string, known []string) {
	if d.text.Damaged() || ofRule(d.found, codeMissingField) > limit.PerRule {
		return
	}
	start := v.span().Start
	f := Diagnostic{Code: codeMissingField, at: syntax.Span{Start: start, End: start + 1}, Path: v.Path()}
	f.Message = fmt.Sprintf("%s has no %q; add one, such as %s.", owner, key, example)
	for k := range v.Members() {
		if name := k.Text(); !slices.Contains(known, name) && words.Closest(name, known) == key {
			f.Message = fmt.Sprintf("%s has no %q, but a key %q; did you mean %q?", owner, key, name, key)
			f.at = k.span()
			f.Fix = k.Rename(key)
			f.Fix.Guess = true
		}
	}
	d.add(f)
}

// is reports whether a value has a kind. A value that exists and has another one is a mistake.
func (d *Document) is(v Value, kind Kind, key string) bool {
	if v.Kind() != kind && v.Kind() != Absent && v.Kind() != Broken {
		d.wrongType(v, key)
	}
	return v.Kind() == kind
}

// expectations describes the value of every key, with an example.
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

func (d *Document) wrongType(v Value, key string) {
	expected := expectations[key]
	f := Diagnostic{Code: codeWrongType, at: v.span()}
	f.Message = fmt.Sprintf("%q must be %s, not %s.", key, expected, v.Kind())
	switch {
	case v.Kind() == String && strings.HasPrefix(expected, "an array") && key != "capabilities":
		text := "[" + d.Source()[f.at.Start:f.at.End] + "]"
		write := text
		if len(text) > 60 || strings.ContainsAny(text, "\r\n") {
			write = "it in brackets"
		}
		f.Message = fmt.Sprintf("%q must be an array, not a string; write %s.", key, write)
		f.Fix = newFix("Put it into an array", f.at, text)
	case v.Kind() == Null:
		f.Message = fmt.Sprintf("%q must not be null; it must be %s, or be left out.", key, expected)
		if slices.Contains([]string{"identifier", "permissions", "urls", "capabilities"}, key) {
			f.Message = fmt.Sprintf("%q must not be null; it must be %s.", key, expected)
		}
	}
	d.add(f)
}

func (d *Document) report(code Code, v Value, message string) {
	d.add(Diagnostic{Code: code, Message: message, at: v.span()})
}

// tooMany reports the first item of a list that is not read.
func (d *Document) tooMany(key string, item Value) {
	d.report(syntax.FaultTooLarge, item, fmt.Sprintf("%q has more than %d items; this one and those after it are not "+
		"read.", key, limit.Items))
}

// strings reads an array of strings.
func (d *Document) strings(v Value, key string) []string {
	if !d.is(v, Array, key) {
		return nil
	}
	list := []string{}
	for item := range v.Items() {
		if len(list) == limit.Items {
			d.tooMany(key, item)
			break
		}
		switch item.Kind() {
		case String:
			list = append(list, item.Text())
		case Broken:
		default:
			d.report(codeWrongType, item, fmt.Sprintf("Every item of %q must be a string, not %s.", key, item.Kind()))
		}
	}
	return list
}

func (d *Document) remote(c *Capability, v Value) {
	if v.Kind() == Null || !d.is(v, Object, "remote") {
		return
	}
	urls := v.Get("urls")
	if !urls.Exists() {
		d.missingKey(v, "urls", `"remote"`, `"urls": ["https://*.example.com"]`, []string{"urls"})
		return
	}
	c.Remote = d.strings(urls, "urls")
}

func (d *Document) platforms(c *Capability, v Value) {
	if v.Kind() == Null {
		return
	}
	for _, name := range d.strings(v, "platforms") {
		// Unknown ones too: a capability with none of them would be active everywhere.
		c.Platforms = append(c.Platforms, Platform(name))
	}
	if v.Kind() == Array && c.Platforms == nil {
		c.Platforms = []Platform{}
	}
	for item := range v.Items() {
		if name := item.Text(); item.Kind() == String && !slices.Contains(Platforms(), Platform(name)) {
			d.unknownPlatform(item, name)
		}
	}
}

func (d *Document) unknownPlatform(v Value, name string) {
	f := Diagnostic{Code: codeUnknownPlatform, at: v.span()}
	f.Message = fmt.Sprintf("The platform %s does not exist; use linux, macOS, windows, android or iOS.",
		words.Quote(name))
	if suggestion := PlatformNamed(name); suggestion != "" {
		f.Message = fmt.Sprintf("The platform %s does not exist; did you mean %q?", words.Quote(name), suggestion)
		f.Fix = v.Replace(string(suggestion))
		f.Fix.Guess = !strings.EqualFold(name, string(suggestion))
	}
	d.add(f)
}

// PlatformNamed returns the platform with a name in any spelling ("macos", "darwin", "win32"), or
// "" if there is none. Files must spell platforms exactly; this is for command lines and
// suggestions.
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
	return Platform(words.Closest(name, known))
}
