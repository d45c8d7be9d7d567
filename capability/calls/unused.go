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

// whole reports whether the frontend is known so well that what was not found in it is not there:
// all of it was read, and it calls something.
func (c *checker) whole() bool {
	return len(c.Unread) == 0 && len(c.called) > 0
}

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
				c.report(codeUnusedGrant, func(s capability.Severity) capability.Diagnostic {
					d := capability.NewDiagnostic(v, codeUnusedGrant, s, message)
					if fix := capability.RemoveItems("Remove it", v); fix != nil {
						fix.Guess = true
						d.Fix = fix
					}
					return d
				})
			}
		}
	}
}

// unused reports whether it is known what a permission or set allows and none of it may be called.
func (c *checker) unused(identifier string) bool {
	plugin, _ := capability.SplitIdentifier(identifier)
	core := plugin == "core" || strings.HasPrefix(plugin, "core:")
	if core && len(c.Foreign) > 0 || plugin != "" && !core && !packages().plugins[plugin] {
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

// mayBeCalled reports whether something in the frontend may call a command.
func (c *checker) mayBeCalled(command capability.Command) bool {
	name := command.String()
	_, short, _ := strings.Cut(name, "|")
	if slices.Contains(c.called, command) || c.names[name] || c.names[short] || c.implied(command) ||
		slices.ContainsFunc(c.computed, func(call computedCall) bool { return call.may(name) }) {
		return true
	}
	return slices.ContainsFunc(packages().callers[command], func(f *function) bool {
		last := f.Name[strings.LastIndexAny(f.Name, "#.")+1:]
		return (c.imports[f.Spec] || c.names["__TAURI__"] || c.imports["@tauri-apps/api"]) &&
			(c.names[last] || last == "default")
	})
}

// implied reports whether a command may be called by what a plugin or the framework adds to pages:
// regions to drag a window by, hot keys, links, dialogs and notifications of the web, and functions
// without commands of their own.
func (c *checker) implied(command capability.Command) bool {
	uses := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return c.names[name] })
	}
	plugin := command.Plugin()
	_, short, _ := strings.Cut(command.String(), "|")
	switch plugin {
	case "window":
		drag := short == "start_dragging" || short == "internal_toggle_maximize"
		return uses("data-tauri-drag-region") && drag || short == "start_resize_dragging"
	case "webview": // by its hot keys
		return short == "internal_toggle_devtools" || short == "set_webview_zoom" || short == "print" && uses("print")
	case "app":
		return short == "register_listener" || short == "remove_listener"
	case "opener", "shell":
		if uses("_blank", "target", "href") && strings.Contains(short, "open") {
			return true
		}
	case "dialog":
		if uses("alert", "confirm", "prompt") {
			return true
		}
	case "notification":
		if uses("Notification") {
			return true
		}
	case "resources", "event":
		return true // by the packages themselves
	}
	spec := "@tauri-apps/plugin-" + plugin
	if !c.imports[spec] {
		return false
	}
	return uses("requestPermission", "sendNotification", "checkPermissions", "requestPermissions", "addPluginListener")
}

// unusedCommands reports the application's own commands that the frontend does not name.
func (c *checker) unusedCommands() {
	var last *capability.Diagnostic // the functions of a name are one command, each for a platform
	for _, command := range c.app.SourceCommands() {
		if c.names[command.Name] || c.rust[command.Name] < 2 ||
			slices.ContainsFunc(c.computed, func(call computedCall) bool { return call.may(command.Name) }) {
			continue
		}
		message := fmt.Sprintf("No source of the frontend calls the command %s.", command.Name)
		if last != nil && last.Message == message {
			place := command.Place
			place.Message = "It is defined here too."
			last.Related = append(last.Related, place)
			continue
		}
		n := len(c.found)
		c.report(codeUnusedCode, func(s capability.Severity) capability.Diagnostic {
			return capability.Diagnostic{Code: codeUnusedCode, Severity: s, File: command.Place.File,
				Start: command.Place.Start, Message: message}
		})
		if len(c.found) > n {
			last = &c.found[n]
		}
	}
}

// readRust counts in the Rust sources of the workspace the names of commands that are called or
// defined. Whatever names a command, a function, a list or a text, may register it. If there is too
// much or some cannot be read, nothing is known.
func (r *reader) readRust(app *capability.App) {
	wanted := make(map[string]int)
	for _, m := range r.graph.Modules {
		for _, c := range m.Calls {
			for _, name := range c.Names {
				wanted[name] = 0
			}
		}
	}
	for _, command := range app.SourceCommands() {
		wanted[command.Name] = 0
	}
	root := app.Dir()
	for up := root; ; up = path.Dir(up) {
		if text, err := r.read(path.Join(up, "Cargo.toml"), limit.Bytes); err == nil &&
			strings.Contains(string(text), "[workspace") {
			root = up
		}
		if _, err := fs.Stat(r.fsys, path.Join(up, ".git")); err == nil || up == "." || up == "/" {
			break
		}
	}
	files, err := r.walk(root, func(base string) bool { return path.Ext(base) == ".rs" },
		func(name string) bool { return path.Base(name) == "target" })
	if err != nil || len(files) == 0 {
		return
	}
	r.bytes = 0 // the limit is for each of the frontend and the Rust sources
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
