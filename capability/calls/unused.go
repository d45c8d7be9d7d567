package calls

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/script"
)

// unusedGrants reports entries of capabilities of which no command may be called. Entries of
// plugins whose packages are not known are left out, and so are those that a set repeats.
func (c *checker) unusedGrants() {
	seen := make(map[capability.Value]bool)
	for _, target := range c.app.Targets(c.platform) {
		capabilities, _ := c.app.Capabilities(target)
		for _, one := range capabilities {
			for _, entry := range one.Permissions {
				v := entry.Value()
				if seen[v] || !one.Local || !c.unused(entry.Identifier) {
					continue
				}
				seen[v] = true
				d := capability.NewDiagnostic(v, unusedGrant.Code, 0, fmt.Sprintf("No source of the frontend calls a "+
					"command that %s allows; if nothing else does, remove it.", entry.Identifier))
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
	plugin, _ := capability.SplitIdentifier(identifier)
	expansions, complete := c.app.Manifests.Expand(identifier)
	allows := false
	for _, x := range expansions {
		if len(x.Deny) > 0 || slices.ContainsFunc(x.Allow, c.mayBeCalled) {
			return false
		}
		allows = allows || len(x.Allow) > 0
	}
	_, known := packages().returned[script.Target{Spec: "@tauri-apps/plugin-" + plugin, Name: "*"}]
	return complete && allows && (plugin == capability.AppManifest || known)
}

// What pages use without a function of a plugin that calls its commands: what the plugin replaces,
// by plugin, functions of the core that take the plugin's name, and what the plugin's own script
// calls in every page.
var (
	replaced = map[string][]string{"dialog": {"alert", "confirm", "prompt"}, "notification": {"Notification"},
		"opener": {"_blank", "target", "href"}, "shell": {"_blank", "target", "href"}}
	general = []string{"requestPermission", "sendNotification", "checkPermissions", "requestPermissions",
		"addPluginListener"}
	inPages = "plugin:notification|is_permission_granted"
)

// mayBeCalled reports whether something in the frontend may call a command.
func (c *checker) mayBeCalled(command capability.Command) bool {
	used := func(name string) bool { return c.words[name] }
	short := command.String()[strings.IndexByte(command.String(), '|')+1:] // a word of its own, too
	imported := used("plugin-" + command.Plugin())
	return command.String() == inPages || used("'"+short) || slices.ContainsFunc(replaced[command.Plugin()], used) ||
		imported && slices.ContainsFunc(general, used) ||
		slices.ContainsFunc(packages().callers[command], func(f script.Target) bool {
			if c.open || used("__TAURI__") || used(f.Spec+"#*") || imported && strings.ContainsAny(f.Name, "#.") {
				return used(last(f.Name))
			}
			return used(f.Spec + "#" + f.Name)
		})
}

// unusedCommands reports the application's own commands that the frontend does not name.
func (c *checker) unusedCommands() {
	for _, command := range c.app.SourceCommands() {
		if !c.words["'"+command.Name] && c.rust[command.Name] > 1 {
			at := command.Place
			c.report(capability.Diagnostic{Code: unusedCommand.Code, File: at.File, Start: at.Start,
				Message: fmt.Sprintf("No source of the frontend calls the command %s.", command.Name)})
		}
	}
}

// readRust counts in the Rust sources of the repository the names of commands that are called or
// defined. Whatever names a command, a function, a list or a text, may register it. If there is too
// much or some cannot be read, nothing is known.
func (r *reader) readRust() {
	wanted, found := make(map[string]int), false
	for _, one := range r.calls {
		wanted[one.command.String()] = 0
	}
	for _, command := range r.app.SourceCommands() {
		wanted[command.Name] = 0
	}
	r.Reset() // the limit is for each of the frontend and the Rust sources
	isOther := func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }
	err := r.Walk(cmp.Or(r.app.Repository(), path.Dir(r.app.Dir())), func(name string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() || path.Ext(name) != ".rs" {
			return nil
		}
		found = true
		text, err := r.Read(name, limit.Bytes)
		for word := range bytes.FieldsFuncSeq(text, isOther) {
			if _, ok := wanted[string(word)]; ok {
				wanted[string(word)]++
			}
		}
		return err
	})
	if err == nil && found {
		r.rust = wanted
	}
}
