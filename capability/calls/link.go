package calls

import (
	"maps"
	"path"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/script"
)

// Call is a command that a frontend calls by a name that is known.
type Call struct {
	Command capability.Command
	// Place is where: the message is the function that is called, such as "invoke".
	Place capability.Place
	// Windows are the labels of the windows whose pages lead to the call; nil if that is not known,
	// because some window's page is not, or all have the same.
	Windows []string

	file   string
	offset int
	length int
}

// link finds the files that modules import, and collects what they use.
func (r *reader) link() {
	aliases := r.aliases()
	exists := func(file string) bool { return r.graph.Modules[file] != nil }
	r.graph.Find = func(from, spec string) string {
		switch {
		case strings.HasPrefix(spec, "."):
			return script.Local(from, spec, exists)
		case strings.HasPrefix(spec, "/"): // from the root of the server
			return script.Local(path.Join(r.root, "x"), "."+spec, exists)
		}
		for _, a := range aliases {
			if rest, ok := strings.CutPrefix(spec, a.prefix); ok && within(from, a.root) {
				if file := script.Local(path.Join(a.folder, "x"), "./"+rest, exists); file != "" {
					return file
				}
			}
		}
		return ""
	}
	for _, m := range r.graph.Modules {
		maps.Copy(r.names, m.Members)
		maps.Copy(r.names, m.Strings)
		for text := range m.Strings {
			if _, command, ok := strings.Cut(text, "|"); ok { // of a plugin that is a part of the application
				r.names[command] = true
			}
		}
		for _, spec := range m.Imports {
			r.imports[spec] = true
		}
		for _, c := range m.Calls {
			r.names[c.Name], r.imports[c.Spec] = true, true
		}
		for _, v := range m.Used {
			r.names[v.Name], r.imports[v.Spec] = true, true
		}
	}
}

// alias is a prefix of imports that stands for a folder.
type alias struct{ prefix, folder, root string }

// aliases returns the prefixes that the settings of TypeScript have, and the usual ones.
func (r *reader) aliases() []alias {
	var all []alias
	folders := make(map[string]bool)
	for file := range r.graph.Modules {
		for up := path.Dir(file); within(up, r.root) && !folders[up]; up = path.Dir(up) {
			folders[up] = true
			if up == "." || up == "/" {
				break
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		for _, name := range []string{"tsconfig.json", "tsconfig.app.json", "jsconfig.json"} {
			text, err := r.read(path.Join(folder, name), script.MaxBytes)
			if err != nil {
				continue
			}
			options := capability.ParseValue(text, capability.Options{Name: name, Format: capability.JSON5}).Root().
				Get("compilerOptions")
			base := path.Join(folder, options.Get("baseUrl").Text())
			for key, value := range options.Get("paths").Members() {
				for to := range value.Items() {
					all = append(all, alias{strings.TrimSuffix(key.Text(), "*"),
						path.Join(base, strings.TrimSuffix(to.Text(), "*")), folder})
				}
			}
		}
	}
	source := path.Join(r.root, "src")
	return append(all, alias{"@/", source, r.root}, alias{"~/", source, r.root}, alias{"@/", r.root, r.root},
		alias{"~/", r.root, r.root}, alias{"$lib/", path.Join(source, "lib"), r.root}, alias{"src/", source, r.root})
}

// calls returns what is called by known names, and the places of calls by computed ones.
func (f *Frontend) calls(app *capability.App) (known []Call, computed []computedCall) {
	windows := f.windows(app)
	for _, file := range slices.Sorted(maps.Keys(f.graph.Modules)) {
		for _, c := range f.graph.Modules[file].Calls {
			v := c.Value
			op := v.Ops[len(v.Ops)-1]
			if op == "()" {
				v.Ops = v.Ops[:len(v.Ops)-1]
			}
			t, ok := f.graph.Resolve(file, v)
			if !ok {
				continue
			}
			t.Kind = script.Export
			call := Call{file: file, offset: c.At, Windows: windows[file]}
			call.length = len(t.Name[strings.LastIndexAny(t.Name, "#.")+1:])
			at := f.at(file, c.At)
			call.Place = capability.Place{File: at.File, Start: at.Start, Message: t.Name}
			if t == script.Invoke && op == "()" {
				for _, name := range c.Names {
					if command, err := parseInvoked(name); err == nil {
						call.Command, call.offset, call.length = command, c.NameAt, len(name)+2
						call.Place.Start = f.at(file, call.offset).Start
						known = append(known, call)
					}
				}
				if c.Names == nil {
					computed = append(computed, computedCall{call, c.Parts})
				}
				continue
			}
			if function := packages().functions[t]; function != nil {
				for _, call.Command = range function.certain {
					known = append(known, call)
				}
			}
		}
	}
	return known, computed
}

// at returns a diagnostic that has the place of an offset of a module.
func (f *Frontend) at(file string, offset int) capability.Diagnostic {
	return f.sources[file].Diagnostic(offset, offset, "", capability.Off, "")
}

// computedCall is a call by a computed name.
type computedCall struct {
	Call
	parts [2]string // that the name begins and ends with
}

// may reports whether the computed name may be that of a command.
func (c computedCall) may(name string) bool {
	return c.parts != [2]string{} && len(name) >= len(c.parts[0])+len(c.parts[1]) &&
		strings.HasPrefix(name, c.parts[0]) && strings.HasSuffix(name, c.parts[1])
}

// parseInvoked reads a name as invoke takes it.
func parseInvoked(name string) (capability.Command, error) {
	command, err := capability.ParseCommand(name)
	if err == nil && command.String() != name {
		err = errNotInvoked
	}
	return command, err
}

// windows returns the labels of the windows whose pages lead to modules, empty unless the windows
// of the configuration have pages of their own that are all known.
func (f *Frontend) windows(app *capability.App) map[string][]string {
	all := make(map[string][]string)
	if app.Config == nil {
		return all
	}
	pages := make(map[string]bool)
	for w := range app.Config.Root().Get("app").Get("windows").Items() {
		label, page := textOr(w.Get("label"), "main"), textOr(w.Get("url"), "index.html")
		page, _, _ = strings.Cut(page, "#")
		page, _, _ = strings.Cut(page, "?")
		if page = strings.TrimPrefix(page, "/"); page == "" {
			page = "index.html"
		}
		file := ""
		for _, folder := range []string{"", "public", "src", "static", "src/pages"} {
			if name := path.Join(f.root, folder, page); f.graph.Modules[name] != nil && file == "" {
				file = name
			}
		}
		if file == "" || path.Ext(file) != ".html" {
			return make(map[string][]string)
		}
		pages[file] = true
		for module := range f.reachable(file) {
			all[module] = append(all[module], label)
		}
	}
	if len(pages) < 2 {
		return make(map[string][]string)
	}
	return all
}

func textOr(v capability.Value, or string) string {
	if v.Kind() != capability.String {
		return or
	}
	return v.Text()
}

// reachable returns the modules that a page leads to.
func (f *Frontend) reachable(page string) map[string]bool {
	seen := make(map[string]bool)
	queue := []string{page}
	for len(queue) > 0 {
		file := queue[0]
		queue = queue[1:]
		m := f.graph.Modules[file]
		if m == nil || seen[file] {
			continue
		}
		seen[file] = true
		for _, spec := range slices.Concat(m.Imports, m.Stars, m.Sources) {
			queue = append(queue, f.graph.Find(file, spec))
		}
		for _, src := range m.Sources {
			queue = append(queue, f.graph.Find(file, "./"+src))
		}
		for _, v := range m.Used {
			queue = append(queue, f.graph.Find(file, v.Spec))
		}
		for _, c := range m.Calls {
			queue = append(queue, f.graph.Find(file, c.Spec))
		}
	}
	return seen
}
