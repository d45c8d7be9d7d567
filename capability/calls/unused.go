package calls

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/limit"
)

// unusedGrants reports entries of capabilities of which no command may be called. Entries of
// plugins whose packages are not known are left out, and so are those that a set repeats.
func (c *checker) unusedGrants() {
	seen := make(map[capability.Place]bool)
	for _, target := range c.app.Targets("") {
		capabilities, _ := c.app.Capabilities(target)
		for _, one := range capabilities {
			for _, entry := range one.Permissions {
				v := entry.Value()
				place := capability.Place{File: v.File(), Start: v.Position()}
				if seen[place] || !one.Local {
					continue
				}
				seen[place] = true
				if !c.unused(entry.Identifier) {
					continue
				}
				message := fmt.Sprintf("No source of the frontend calls a command that %s allows; if nothing else "+
					"does, remove it.", entry.Identifier)
				d := capability.NewDiagnostic(v, codeUnusedGrant, capability.Info, message)
				if d.Fix = capability.RemoveItems("Remove it", v); d.Fix != nil {
					d.Fix.Guess = true
				}
				c.report(d)
			}
		}
	}
}

// unused reports whether it is known what a permission or set allows and none of it may be called.
// The permissions of the core are not judged: the framework and all packages call its commands.
func (c *checker) unused(identifier string) bool {
	if plugin, _ := capability.SplitIdentifier(identifier); plugin != "" && !packages().plugins[plugin] {
		return false
	}
	expansions, complete := c.manifests.Expand(identifier)
	allows := false
	for _, x := range expansions {
		if len(x.Deny) > 0 || slices.ContainsFunc(x.Allow, c.mayBeCalled) {
			return false
		}
		allows = allows || len(x.Allow) > 0
	}
	return complete && allows
}

// What pages use without a function of a plugin that calls its commands: what the plugin replaces,
// by plugin, and functions of the core that take the plugin's name.
var (
	replaced = map[string][]string{"dialog": {"alert", "confirm", "prompt"}, "notification": {"Notification"},
		"opener": {"_blank", "target", "href"}, "shell": {"_blank", "target", "href"}}
	general = []string{"requestPermission", "sendNotification", "checkPermissions", "requestPermissions",
		"addPluginListener"}
)

// mayBeCalled reports whether something in the frontend may call a command.
func (c *checker) mayBeCalled(command capability.Command) bool {
	used := func(name string) bool { return c.words[name] }
	_, short, _ := strings.Cut(command.String(), "|")
	imported := used("plugin-" + command.Plugin())
	return used("'"+command.String()) || used("'"+short) || slices.ContainsFunc(replaced[command.Plugin()], used) ||
		imported && slices.ContainsFunc(general, used) ||
		slices.ContainsFunc(packages().callers[command], func(f *function) bool {
			if used("__TAURI__") || used(f.Spec+"#*") || imported && strings.ContainsAny(f.Name, "#.") {
				return used(last(f.Name))
			}
			return used(f.Spec + "#" + f.Name)
		})
}

// unusedCommands reports the application's own commands that the frontend does not name.
func (c *checker) unusedCommands() {
	reported := make(map[string]bool) // the functions of a name are one command, each for a platform
	for _, command := range c.app.SourceCommands() {
		if c.words["'"+command.Name] || c.rust[command.Name] < 2 || reported[command.Name] {
			continue
		}
		reported[command.Name] = true
		c.report(capability.Diagnostic{Code: codeUnusedCode, File: command.Place.File, Start: command.Place.Start,
			Message: fmt.Sprintf("No source of the frontend calls the command %s.", command.Name)})
	}
}

// readRust counts in the Rust sources of the repository the names of commands that are called or
// defined. Whatever names a command, a function, a list or a text, may register it. If there is too
// much or some cannot be read, nothing is known.
func (r *reader) readRust() {
	wanted := make(map[string]int)
	for _, one := range r.calls {
		wanted[one.command.String()] = 0
	}
	for _, command := range r.app.SourceCommands() {
		wanted[command.Name] = 0
	}
	r.entries, r.bytes = 0, 0 // the limits are for each of the frontend and the Rust sources
	files, err := r.walk(r.top(path.Dir(r.app.Dir())), func(base string) bool { return path.Ext(base) == ".rs" },
		func(name string) bool { return path.Base(name) == "target" })
	if err != nil || len(files) == 0 {
		return
	}
	for _, file := range files {
		text, err := r.read(file, limit.Bytes)
		if err != nil {
			return
		}
		for word := range strings.FieldsFuncSeq(string(text), func(c rune) bool {
			return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		}) {
			if n, ok := wanted[word]; ok {
				wanted[word] = n + 1
			}
		}
	}
	r.rust = wanted
}

// top returns the folder of the repository that a folder is in, and the folder itself without one.
func (r *reader) top(folder string) string {
	for up := folder; ; up = path.Dir(up) {
		if _, err := fs.Stat(r.fsys, path.Join(up, ".git")); err == nil {
			return up
		}
		if up == "." || up == "/" {
			return folder
		}
	}
}
