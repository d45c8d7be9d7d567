package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/script"
)

// caller reads which commands the functions of npm packages call.
type caller struct {
	*script.Graph
	functions map[string]functions     // by file
	public    map[script.Target]string // the names under which classes are exported
}

// addCalls writes the table of the functions of packages: those of a folder @tauri-apps.
func addCalls(folder string) (rows [][]string, err error) {
	c := &caller{&script.Graph{Modules: make(map[string]*script.Module)}, make(map[string]functions),
		make(map[script.Target]string)}
	modules := make(map[string]string) // as programs import them, by file
	for _, pattern := range []string{"api/*.js", "api/menu/*.js", "plugin-*/dist-js/*.js"} {
		files, _ := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern))) // the patterns are valid
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			name, _ := filepath.Rel(folder, file) // it is below
			name = filepath.ToSlash(name)
			c.functions[name] = make(functions)
			if c.Modules[name], err = script.Parse(name, text, c.functions[name].collect); err != nil {
				return nil, err
			}
			module, isIndex := strings.CutSuffix(strings.TrimSuffix(name, ".js"), "/dist-js/index")
			if isIndex || pattern == "api/*.js" && module != "api/index" {
				modules[name] = "@tauri-apps/" + module
			}
		}
	}
	for file, m := range c.Modules {
		for spec := range m.Imports {
			if name, ok := strings.CutPrefix(spec, "@tauri-apps/api/"); ok {
				m.Imports[spec] = c.Local("api/x", name)
			} else if strings.HasPrefix(spec, ".") {
				m.Imports[spec] = c.Local(file, spec)
			}
		}
	}
	for _, add := range []func(spec, name string, t script.Target){
		func(spec, name string, t script.Target) { // prefers "Database" to "default", the new to the old
			c.public[t] = max(c.public[t], spec+"#"+name)
		},
		func(spec, name string, t script.Target) { rows = append(rows, c.rows(spec, name, t)...) },
	} {
		for file, spec := range modules {
			for name := range c.Modules[file].Exports {
				if t := c.Export(file, name); t != (script.Target{}) {
					add(spec, name, t)
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
func (c *caller) rows(spec, name string, t script.Target) (rows [][]string) {
	for member, of := range c.members(t) {
		var calls []string
		for command, maybe := range c.calls(of, false, make(map[string]bool), make(map[script.Target]bool)) {
			// A constructor creates what it is of, unless an option tells that it exists.
			if maybe && (member != "" || !strings.Contains(command, "|create")) {
				command += "?"
			}
			calls = append(calls, command)
		}
		slices.Sort(calls)
		returned := c.Result(of)
		class := ""
		if returned.Instance {
			returned.Instance = false
			class = c.public[returned]
		}
		if member == "" || calls != nil || class != "" {
			rows = append(rows, []string{spec, name + member, cmp.Or(class, "-"),
				cmp.Or(strings.Join(calls, ","), "-")})
		}
	}
	return rows
}

// members returns an export and, of a class, its members by ".static" or "#method", each with the
// function that it is: its own one before those of the classes that it extends.
func (c *caller) members(t script.Target) map[string]script.Target {
	all := map[string]script.Target{"": t}
	classes := []script.Target{t}
	if t.Name == "WebviewWindow" { // the framework copies the methods of both into it
		classes = append(classes, script.Target{Spec: "api/window.js", Name: "Window"},
			script.Target{Spec: "api/webview.js", Name: "Webview"})
	}
	for i := 0; i < len(classes) && i < 10; i++ {
		of := classes[i]
		class := c.functions[of.Spec][of.Name]
		if class == nil || !class.isClass {
			continue
		}
		for name := range c.functions[of.Spec] {
			member, ok := strings.CutPrefix(name, of.Name)
			_, overridden := all[member]
			if ok && !overridden && strings.IndexAny(member, "#.") == 0 && len(member) > 1 {
				all[member] = script.Target{Spec: of.Spec, Name: name}
			}
		}
		classes = append(classes, c.Resolve(c.Modules[of.Spec], class.extends))
	}
	return all
}

// calls adds the commands that a function calls, each with whether it may not.
func (c *caller) calls(t script.Target, maybe bool, known map[string]bool, seen map[script.Target]bool,
) map[string]bool {
	t.Instance = false
	if i := strings.IndexAny(t.Name, "#."); i > 0 { // of a class, maybe one that it extends, or of an object
		class := script.Target{Spec: t.Spec, Name: t.Name[:i]}
		t = cmp.Or(c.members(class)[t.Name[i:]], script.Target{Spec: t.Spec, Name: t.Name[i+1:]})
	}
	f := c.functions[t.Spec][t.Name]
	if f == nil || seen[t] || f.isClass && len(seen) > 0 {
		return known // of a class others make objects for what exists
	}
	seen[t] = true
	for _, call := range f.calls {
		maybe := maybe || call.maybe
		to := c.Resolve(c.Modules[t.Spec], call.function)
		if to.Spec != "api/core.js" || to.Name != "invoke" {
			c.calls(to, maybe, known, seen)
			continue
		}
		names, _ := c.Texts(c.Modules[t.Spec], call.argument)
		for _, name := range slices.DeleteFunc(names, func(name string) bool { return name == "" }) {
			before, again := known[name]
			known[name] = maybe && (before || !again)
		}
	}
	return known
}
