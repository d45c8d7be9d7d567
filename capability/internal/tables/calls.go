package main

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/script"
)

// caller reads which commands the functions of npm packages call.
type caller struct {
	*script.Graph
	root string
	core string // the file that defines invoke
}

// addCalls writes the table of the functions of packages: those of a folder @tauri-apps.
func addCalls(folder string) ([][]string, error) {
	c := &caller{Graph: &script.Graph{Modules: make(map[string]*script.Module)}, root: folder, core: "api/core.js"}
	exists := func(file string) bool { return c.Modules[file] != nil }
	c.Find = func(from, spec string) string {
		if name, ok := strings.CutPrefix(spec, "@tauri-apps/api/"); ok {
			return "api/" + name + ".js"
		}
		if strings.HasPrefix(spec, ".") {
			return script.Local(from, spec, exists)
		}
		return ""
	}
	c.Returns = func(script.Target) (script.Target, bool) { return script.Target{}, false }
	files, _ := filepath.Glob(filepath.Join(folder, "api", "*.js")) // the patterns are valid
	more, _ := filepath.Glob(filepath.Join(folder, "api", "menu", "*.js"))
	plugins, _ := filepath.Glob(filepath.Join(folder, "plugin-*", "dist-js", "*.js"))
	for _, file := range slices.Concat(files, more, plugins) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name, _ := filepath.Rel(folder, file) // it is below
		if c.Modules[filepath.ToSlash(name)], err = script.Parse(file, text); err != nil {
			return nil, err
		}
	}
	var rows [][]string
	public := make(map[script.Target]string) // the names under which classes are exported
	for _, write := range []bool{false, true} {
		for file, m := range c.Modules {
			spec := "@tauri-apps/" + strings.TrimSuffix(file, ".js")
			plugin, module, isPlugin := strings.Cut(file, "/dist-js/")
			if isPlugin {
				spec = "@tauri-apps/" + plugin
			}
			if isPlugin && module != "index.js" || file == "api/index.js" || strings.HasPrefix(file, "api/menu/") {
				continue
			}
			for name, v := range m.Exports {
				t, ok := c.Resolve(file, v)
				switch {
				case ok && write:
					rows = append(rows, c.rows(spec, name, t, public)...)
				case ok && public[t] < spec+"#"+name: // prefers "Database" to "default", the new to the old
					public[t] = spec + "#" + name
				}
			}
		}
	}
	for _, row := range rows { // a LazyStore has the methods of the Store that its getter loads
		if method, ok := strings.CutPrefix(row[1], "Store#"); ok && strings.HasSuffix(row[0], "/plugin-store") {
			rows = append(rows, []string{row[0], "LazyStore#" + method, "-", row[3] + ",plugin:store|load?"})
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return rows, nil
}

// rows returns the rows of an export: its own, and those of the members of a class.
func (c *caller) rows(spec, name string, t script.Target, public map[script.Target]string) (rows [][]string) {
	for _, member := range append(c.members(t), "") {
		of := t
		of.Name += member
		calls := make(map[string]bool)
		c.collect(of, false, calls, make(map[script.Target]bool))
		var list []string
		for command, maybe := range calls {
			if maybe {
				command += "?"
			}
			list = append(list, command)
		}
		slices.Sort(list)
		returned := c.returned(of, public)
		if member == "" || list != nil || returned != "" {
			rows = append(rows, []string{spec, name + member, cmp.Or(returned, "-"),
				cmp.Or(strings.Join(list, ","), "-")})
		}
	}
	return rows
}

// returned returns the class of which a function returns an instance, "" if it does not.
func (c *caller) returned(t script.Target, public map[script.Target]string) string {
	for _, of := range c.parents(t) {
		v, ok := c.Modules[of.Spec].Returns[of.Name]
		if !ok {
			continue
		}
		if r, ok := c.Resolve(of.Spec, v); ok && r.Instance {
			r.Instance = false
			return public[r]
		}
	}
	return ""
}

// split returns the class of a method and the method, ".static" or "#method".
func split(name string) (class, method string) {
	if i := strings.IndexAny(name, ".#"); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// mixed are the classes whose methods the framework copies into WebviewWindow.
var mixed = []script.Target{{Spec: "api/window.js", Name: "Window"}, {Spec: "api/webview.js", Name: "Webview"}}

// parents returns a class, or a method as the class and those that it extends have it, from the
// class itself on.
func (c *caller) parents(t script.Target) []script.Target {
	var all []script.Target
	class, method := split(t.Name)
	for depth := 0; depth < 5 && c.Modules[t.Spec] != nil; depth++ {
		all = append(all, script.Target{Spec: t.Spec, Name: class + method})
		if class == "WebviewWindow" {
			for _, other := range mixed {
				all = append(all, script.Target{Spec: other.Spec, Name: other.Name + method})
			}
		}
		extended, known := c.Modules[t.Spec].Classes[class]
		if !known || extended.Name == "" {
			break
		}
		up, found := c.Resolve(t.Spec, extended)
		if !found {
			break
		}
		t, class = up, up.Name
	}
	return all
}

// members returns the methods of a class.
func (c *caller) members(t script.Target) (members []string) {
	if _, ok := c.Modules[t.Spec].Classes[t.Name]; !ok {
		return nil
	}
	for _, class := range c.parents(t) {
		m := c.Modules[class.Spec]
		names := slices.Collect(maps.Keys(m.Returns))
		for _, call := range m.Calls {
			names = append(names, call.In)
		}
		for _, name := range names {
			if of, method := split(name); of == class.Name && len(method) > 1 && !slices.Contains(members, method) {
				members = append(members, method)
			}
		}
	}
	return members
}

// collect adds the commands that a function calls, each with whether it may not.
func (c *caller) collect(t script.Target, maybe bool, calls map[string]bool, seen map[script.Target]bool) {
	if t.Instance = false; seen[t] || len(seen) > 200 {
		return
	}
	seen[t] = true
	for _, of := range c.parents(t) {
		found := false
		for _, call := range c.Modules[of.Spec].Calls {
			if call.In != of.Name {
				continue
			}
			found = true
			to, ok := c.Resolve(of.Spec, call.Value)
			maybe := maybe || call.Maybe
			switch {
			case ok && to.Spec == c.core && to.Name == "invoke":
				for _, name := range call.Names {
					known, again := calls[name]
					calls[name] = maybe && (known || !again)
				}
			case ok:
				c.collect(to, maybe, calls, seen)
			}
		}
		if _, method := split(of.Name); found || method == "" {
			break // it overrides those of its parents
		}
	}
}
