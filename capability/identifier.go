package capability

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// SplitIdentifier returns the plugin and the name of a permission identifier: "core:window" and
// "allow-close". The plugin of the application's own permissions is [AppManifest].
func SplitIdentifier(identifier string) (plugin, name string) {
	at := strings.LastIndexByte(identifier, ':')
	if at < 0 {
		return AppManifest, identifier
	}
	return identifier[:at], identifier[at+1:]
}

// fullIdentifier returns the identifier of a plugin's permission.
func fullIdentifier(plugin, name string) string {
	if plugin == AppManifest {
		return name
	}
	return plugin + ":" + name
}

// maxIdentifier is the longest permission identifier in bytes: a package name of 64 without its
// prefix of 13, a colon and 64 more.
const maxIdentifier = (64 - len("tauri-plugin-")) + 1 + 64

// checkIdentifier returns what is wrong with a permission identifier by the grammar of the
// reference implementation, in its newer form, which allows hyphens in a row. Upper case is
// allowed, non-ASCII characters are not.
func checkIdentifier(s string) error {
	switch {
	case strings.HasPrefix(s, "tauri-plugin-"):
		return errors.New("permission identifiers name a plugin without tauri-plugin-")
	case s == "":
		return errors.New("a permission identifier must not be empty")
	case len(s) > maxIdentifier:
		return fmt.Errorf("a permission identifier has at most %d bytes, not %d", maxIdentifier, len(s))
	case !isAlphanumeric(s[0]):
		return unexpected(s)
	}
	colon := -1
	for i := 1; i < len(s); i++ {
		switch {
		case isAlphanumeric(s[i]) || s[i] == '-':
			continue
		case s[i] != ':':
			return unexpected(s[i:])
		case s[i-1] == '-':
			return unexpected(s[i-1:])
		case colon >= 0 && !strings.HasPrefix(s, "core:"):
			return errors.New("a permission identifier has one colon, between plugin and permission; only those of " +
				"core: have more")
		case strings.HasPrefix(s[i+1:], "-"):
			return unexpected(s[i+1:])
		}
		colon = i
	}
	switch {
	case colon == len(s)-1:
		return errors.New("the name of a permission is missing after the colon")
	case s[len(s)-1] == '-':
		return errors.New("a permission identifier does not end with a hyphen")
	}
	return nil
}

// unexpected returns the error about an identifier whose first character in rest must not be there.
func unexpected(rest string) error {
	switch r := []rune(rest)[0]; r {
	case '-':
		return errors.New("neither plugin nor permission begins or ends with a hyphen")
	case ':':
		return errors.New("a plugin is missing before the colon")
	case '_':
		return errors.New("identifiers are written with hyphens, not with underscores")
	default:
		return fmt.Errorf("identifiers consist of letters, digits, hyphens and a colon, not of %q", r)
	}
}

func isAlphanumeric(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// repairIdentifier guesses which well-formed identifier a malformed one is a misspelling of, or
// returns "".
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
	if checkIdentifier(r) != nil {
		return ""
	}
	return r
}
