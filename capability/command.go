package capability

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"lessonkit.example/capability/internal/words"
)

// canonicalCommand returns a command in the form that policies use: "plugin:window|close". It
// accepts "core:window:close", "window:close", "window|close", permission identifiers such as
// "core:window:allow-close", the form "window.close" of the messages that the framework prints,
// also with a name of JavaScript such as "fs.readFile", and the second names of commands. Anything
// else is a command of the application.
func canonicalCommand(command string) string {
	plugin, name, ok := strings.Cut(strings.TrimPrefix(command, "plugin:"), "|")
	if !ok {
		at := strings.LastIndexByte(command, ':')
		switch {
		case strings.HasPrefix(command, "plugin:"):
			return command // not a command
		case at >= 0:
			plugin, name = command[:at], command[at+1:]
			name = strings.TrimPrefix(strings.TrimPrefix(name, "allow-"), "deny-")
		case dottedCommand.MatchString(command):
			plugin, name, _ = strings.Cut(command, ".")
			plugin, name = strings.ToLower(plugin), snakeCase(name)
		default:
			return strings.ReplaceAll(command, "-", "_")
		}
	}
	plugin = strings.TrimPrefix(plugin, "core:")
	name = strings.ReplaceAll(name, "-", "_")
	for _, a := range aliases {
		if "core:"+plugin == a.plugin && name == strings.ReplaceAll(a.alias, "-", "_") {
			name = strings.ReplaceAll(a.command, "-", "_")
		}
	}
	if rest, ok := strings.CutPrefix(command, "plugin:"+plugin+"|"); ok && rest == name {
		return command // already canonical; decisions must not allocate
	}
	return "plugin:" + plugin + "|" + name
}

var (
	dottedCommand = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*\.[A-Za-z_][A-Za-z0-9_]*$`)
	// ownName describes the names that commands of applications have: those of functions in Rust.
	ownName = regexp.MustCompile(`^_*[a-z][a-z0-9_]*$`)
)

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

// commandKey returns the name under which a plugin's command is called.
func commandKey(plugin, command string) string {
	if plugin == AppManifest {
		return command
	}
	return "plugin:" + strings.TrimPrefix(plugin, "core:") + "|" + command
}

func splitCommand(command string) (plugin, name string) {
	if rest, ok := strings.CutPrefix(command, "plugin:"); ok {
		plugin, name, _ = strings.Cut(rest, "|")
		return plugin, name
	}
	return AppManifest, command
}

// canonical returns a command in the form that policies use. A name of JavaScript without its
// plugin is that of the only plugin command that it can mean.
func (p *Policy) canonical(command string) string {
	command = canonicalCommand(command)
	if strings.HasPrefix(command, "plugin:") || p.byCommand().commands[command] != nil {
		return command
	}
	if name := snakeCase(command); name != command {
		if named, _ := p.named(); len(named[name]) == 1 {
			return named[name][0]
		}
	}
	return command
}

// named returns the known commands by their names without the plugin. Commands of the application
// itself are not among them, nor those of official plugins that no capability mentions. Those that
// the application's release has are in inRelease too.
func (p *Policy) named() (commands, inRelease map[string][]string) {
	p.names.once.Do(func() {
		named, inRelease := make(map[string][]string), make(map[string][]string)
		add := func(to map[string][]string, name, key string) {
			if !slices.Contains(to[name], key) {
				to[name] = append(to[name], key)
			}
		}
		mentioned := make(map[string]bool)
		for _, c := range p.capabilities {
			for i := range c.Permissions {
				plugin, _ := splitIdentifier(c.Permissions[i].Identifier)
				mentioned[plugin] = true
			}
		}
		for _, plugin := range p.manifests.plugins() {
			m := p.manifests.Get(plugin)
			if plugin == AppManifest || m.official && !mentioned[plugin] {
				continue
			}
			for _, permission := range m.Permissions {
				for _, name := range permission.Allow {
					add(named, name, commandKey(plugin, name))
					if permission.inRelease(p.version) {
						add(inRelease, name, commandKey(plugin, name))
					}
				}
			}
		}
		for _, named := range []map[string][]string{named, inRelease} {
			for _, commands := range named {
				slices.Sort(commands)
			}
		}
		p.names.commands, p.names.inRelease = named, inRelease
	})
	return p.names.commands, p.names.inRelease
}

// own reports whether a name can be a command of the application, of which no manifest tells the
// commands. A name that a plugin's command has is not taken for one.
func (p *Policy) own(name string) bool {
	if p.ownCommands != nil {
		return slices.Contains(p.ownCommands, name)
	}
	if !ownName.MatchString(name) {
		return false
	}
	named, _ := p.named()
	return len(named[name]) == 0
}

// mostMeant limits the suggestions for a command that does not exist.
const mostMeant = 5

// meant returns the commands of the application's release that an unknown one may mean: those of
// its plugin, or for a name without one those of the application and of all plugins.
func (p *Policy) meant(command string) []string {
	plugin, name := splitCommand(command)
	name = snakeCase(name)
	if manifests := p.manifestsOf(command); plugin != AppManifest && len(manifests) > 0 {
		known, _ := p.allowed(manifests)
		if like := words.Closest(name, known); like != "" {
			return []string{commandKey(plugin, like)}
		}
		return nil
	}
	var similar []string
	known, _ := p.allowed(p.manifestsOf(name))
	if like := words.Closest(name, slices.Concat(p.ownCommands, known)); like != "" {
		similar = append(similar, like)
	}
	like := name
	_, named := p.named()
	if len(named[name]) == 0 {
		like = words.Closest(name, slices.Sorted(maps.Keys(named)))
	}
	similar = append(similar, named[like]...)
	return similar[:min(len(similar), mostMeant)]
}

// allowed returns the commands that permissions of manifests allow in the application's release,
// in order, and those that permissions of newer releases allow.
func (p *Policy) allowed(manifests []*Manifest) (commands, newer []string) {
	for _, m := range manifests {
		for _, permission := range m.Permissions {
			if permission.inRelease(p.version) {
				commands = append(commands, permission.Allow...)
			} else {
				newer = append(newer, permission.Allow...)
			}
		}
	}
	slices.Sort(commands)
	return commands, newer
}
