package capability

import (
	"fmt"
	"slices"
	"strings"
)

// maxIdentifier is the longest permission identifier in bytes: a package name of 64 without its
// prefix of 13, a colon and 64 more.
const maxIdentifier = (64 - len("tauri-plugin-")) + 1 + 64

// Identifier is a permission identifier that is well-formed: "default", "fs:allow-read-file",
// "core:window:allow-close".
type Identifier struct {
	text string
	sep  int // place of the colon before the name, -1 without one
}

// String returns the whole identifier.
func (id Identifier) String() string { return id.text }

// Plugin returns the part before the last colon, "" for a permission of the application itself.
func (id Identifier) Plugin() string {
	if id.sep < 0 {
		return ""
	}
	return id.text[:id.sep]
}

// Name returns the part after the last colon.
func (id Identifier) Name() string { return id.text[id.sep+1:] }

// identifierFault is what is wrong with an identifier.
type identifierFault uint8

// The faults, named as the reference implementation names them, in the order in which it looks for
// them.
const (
	startsWithTauriPlugin identifierFault = iota + 1
	empty
	humongous
	invalidFormat
	multipleSeparators
	prefixWithoutBase
	trailingHyphen
)

// identifierError reports why an identifier is not well-formed.
type identifierError struct {
	Fault  identifierFault
	Offset int // the byte where the fault is
	text   string
}

// Error describes what is wrong and how to correct it.
func (e *identifierError) Error() string {
	switch e.Fault {
	case startsWithTauriPlugin:
		return "permission identifiers name a plugin without tauri-plugin-"
	case empty:
		return "a permission identifier must not be empty"
	case humongous:
		return fmt.Sprintf("a permission identifier has at most %d bytes, not %d", maxIdentifier, len(e.text))
	case multipleSeparators:
		return "a permission identifier has one colon, between plugin and permission; only those of core: have more"
	case prefixWithoutBase:
		return "the name of a permission is missing after the colon"
	case trailingHyphen:
		return "a permission identifier does not end with a hyphen"
	}
	r := []rune(e.text[e.Offset:])[0]
	switch {
	case r == '-':
		return "neither plugin nor permission begins or ends with a hyphen"
	case r == ':':
		return "a plugin is missing before the colon"
	case r == '_':
		return "identifiers are written with hyphens, not with underscores"
	}
	return fmt.Sprintf("identifiers consist of letters, digits, hyphens and a colon, not of %q", r)
}

// Permanent reports true: retrying cannot help.
func (e *identifierError) Permanent() bool { return true }

// ParseIdentifier reads a permission identifier by the grammar of the reference implementation, in
// its newer form, which allows hyphens in a row. Upper case is allowed, non-ASCII characters are
// not. The error is permanent.
func ParseIdentifier(s string) (Identifier, error) {
	fail := func(fault identifierFault, at int) (Identifier, error) {
		return Identifier{}, &identifierError{Fault: fault, Offset: at, text: s}
	}
	if strings.HasPrefix(s, "tauri-plugin-") {
		return fail(startsWithTauriPlugin, 0)
	}
	if s == "" {
		return fail(empty, 0)
	}
	if len(s) > maxIdentifier {
		return fail(humongous, maxIdentifier)
	}
	if !isAlphanumeric(s[0]) {
		return fail(invalidFormat, 0)
	}
	sep := -1
	for i := 1; i < len(s); i++ {
		switch {
		case isAlphanumeric(s[i]) || s[i] == '-':
			continue
		case s[i] != ':':
			return fail(invalidFormat, i)
		case s[i-1] == '-':
			return fail(invalidFormat, i-1)
		case sep >= 0 && !strings.HasPrefix(s, "core:"):
			return fail(multipleSeparators, i)
		case strings.HasPrefix(s[i+1:], "-"):
			return fail(invalidFormat, i+1)
		}
		sep = i
	}
	if sep == len(s)-1 {
		return fail(prefixWithoutBase, sep)
	}
	if s[len(s)-1] == '-' {
		return fail(trailingHyphen, len(s)-1)
	}
	return Identifier{text: s, sep: sep}, nil
}

func isAlphanumeric(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// repairIdentifier guesses the well-formed identifier that was meant, or returns "".
func repairIdentifier(s string) string {
	r := strings.TrimSpace(s)
	r = strings.TrimPrefix(r, "tauri-plugin-")
	if plugin, command, ok := strings.Cut(strings.TrimPrefix(r, "plugin:"), "|"); ok {
		r = plugin + ":allow-" + command // a command where a permission belongs
	}
	r = strings.NewReplacer("_", "-", "::", ":", "/", ":").Replace(r)
	if plugin, name, ok := strings.Cut(r, "."); ok && !strings.Contains(r, ":") {
		r = plugin + ":allow-" + name // fs.exists
	}
	r = strings.Trim(r, "-:")
	if plugin, _, ok := strings.Cut(r, ":"); ok && slices.Contains(coreOrder, plugin) {
		r = "core:" + r
	}
	if _, err := ParseIdentifier(r); err != nil {
		return ""
	}
	return r
}
