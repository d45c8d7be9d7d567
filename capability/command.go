package capability

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"lessonkit.example/capability/internal/words"
)

// Command is a command that pages call: one of a plugin, or of the application itself. Get one from
// [ParseCommand] or [Policy.Commands]. The zero Command is none, which nothing allows. Commands can
// be compared with ==.
type Command struct {
	plugin string // without "core:", "" for the application itself
	name   string // as in Rust, with underscores
}

// String returns the command as pages call it: "plugin:window|close", or "greet" of the application
// itself.
func (c Command) String() string {
	if c.plugin == "" {
		return c.name
	}
	return "plugin:" + c.plugin + "|" + c.name
}

// Plugin returns the name of the command's plugin, without "core:"; "" for the application itself.
func (c Command) Plugin() string { return c.plugin }

// MarshalText returns the same as String.
func (c Command) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// newCommand returns a command of a manifest's plugin.
func newCommand(plugin, name string) Command {
	if plugin == AppManifest {
		plugin = ""
	}
	return Command{strings.TrimPrefix(plugin, "core:"), name}
}

var (
	// dottedCommand describes commands in messages of the framework, "window.set_title", and with a
	// name of JavaScript, "window.setTitle".
	dottedCommand = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*\.[A-Za-z_][A-Za-z0-9_]*$`)
	// wholeCommand describes what commands consist of.
	wholeCommand = regexp.MustCompile(`^(?:plugin:[^\s:|]+\|)?[^\s:|.]+$`)
	// functionName describes the names that commands of applications have: those of functions in
	// Rust.
	functionName = regexp.MustCompile(`^_*[a-z][a-z0-9_]*$`)
)

// ParseCommand reads a command as pages call it, "plugin:window|close" or "greet", or as it is
// written elsewhere: "core:window:close", "window:close" or "window|close", a permission identifier
// such as "core:window:allow-close", and "window.close" in messages of the framework, also with a
// name of JavaScript such as "window.setTitle". Whether the command exists is not looked at.
func ParseCommand(text string) (Command, error) {
	plugin, name, ok := strings.Cut(strings.TrimPrefix(text, "plugin:"), "|")
	if !ok {
		at := strings.LastIndexByte(text, ':')
		switch {
		case strings.HasPrefix(text, "plugin:"):
			name = "" // no command
		case at >= 0:
			plugin, name = text[:at], text[at+1:]
			name = strings.TrimPrefix(strings.TrimPrefix(name, "allow-"), "deny-")
		case dottedCommand.MatchString(text):
			plugin, name, _ = strings.Cut(text, ".")
			plugin, name = strings.ToLower(plugin), snakeCase(name)
		default:
			plugin, name = "", text
		}
	}
	c := newCommand(plugin, strings.ReplaceAll(name, "-", "_"))
	if c == (Command{"app", "framework_version"}) { // its name in the interface document of the format
		c.name = "tauri_version"
	}
	if ok && plugin == "" || !wholeCommand.MatchString(c.String()) {
		return Command{}, fmt.Errorf("%s is not a command; write it as plugin:window|close, window.close, or "+
			"greet", words.Quote(text))
	}
	return c, nil
}

// snakeCase returns the name in Rust of a name in JavaScript: "set_title" for "setTitle".
func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func compareCommands(a, b Command) int { return strings.Compare(a.String(), b.String()) }

// byName returns the commands of the application's release by their names without the plugin.
// Commands of the application itself are not among them, nor those of official plugins that no
// capability mentions.
func (p *Policy) byName() map[string][]Command {
	all := make(map[string][]Command)
	mentioned := make(map[string]bool)
	for _, source := range p.sources {
		for _, e := range source.capability.Permissions {
			plugin, _ := SplitIdentifier(e.Identifier)
			mentioned[plugin] = true
		}
	}
	for _, plugin := range p.manifests.plugins() {
		m := p.manifests.Get(plugin)
		if plugin == AppManifest || m.official && !mentioned[plugin] {
			continue
		}
		names, _ := p.allowed(newCommand(plugin, ""))
		for _, name := range slices.Compact(names) {
			all[name] = append(all[name], newCommand(plugin, name))
		}
	}
	for name, commands := range all {
		slices.SortFunc(commands, compareCommands)
		all[name] = slices.Compact(commands)
	}
	return all
}

// mayBeOwn reports whether a name can be a command of the application, where no manifest lists its
// commands. A name that a plugin's command has is not taken for one.
func (p *Policy) mayBeOwn(name string) bool {
	if p.ownCommands != nil {
		return slices.Contains(p.ownCommands, name)
	}
	if !functionName.MatchString(name) {
		return false
	}
	return len(p.named()[name]) == 0
}

// maxSuggestions limits the suggestions for a command that does not exist.
const maxSuggestions = 5

// suggestions returns the commands of the application's release that an unknown one may be a
// misspelling of: those of its plugin, or for a name without one those of the application and of
// all plugins.
func (p *Policy) suggestions(c Command) []Command {
	name := snakeCase(c.name)
	closest := func(names []string) string {
		if slices.Contains(names, name) {
			return name
		}
		return words.Closest(name, names)
	}
	known, _ := p.allowed(c)
	if c.plugin != "" && p.KnowsPlugin(c) {
		if like := closest(known); like != "" {
			return []Command{{c.plugin, like}}
		}
		return nil
	}
	known, _ = p.allowed(Command{name: name})
	var similar []Command
	if like := (Command{name: closest(slices.Concat(p.ownCommands, known))}); like.name != "" && like != c {
		similar = append(similar, like)
	}
	named := p.named()
	similar = append(similar, named[closest(slices.Sorted(maps.Keys(named)))]...)
	return similar[:min(len(similar), maxSuggestions)]
}

// allowed returns the names of commands that permissions of a command's plugin allow in the
// application's release, in order, and those that permissions of newer releases allow.
func (p *Policy) allowed(c Command) (names, newer []string) {
	for _, m := range p.manifestsOf(c) {
		for _, permission := range m.Permissions {
			if !p.version.Before(permission.Since) {
				names = append(names, permission.Allow...)
			} else {
				newer = append(newer, permission.Allow...)
			}
		}
	}
	slices.Sort(names)
	return names, newer
}
