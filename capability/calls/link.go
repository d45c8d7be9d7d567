package calls

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/script"
)

// call is a call of a command, or of invoke by a computed name.
type call struct {
	command capability.Command // the zero Command if the name is computed
	name    string             // of the function that is called, such as "invoke" and "Window#close"
	windows []string           // whose pages lead to the call, nil if that is not known
	source  *capability.Source
	offset  int
	length  int
}

// String names the command, and the function that calls it.
func (c call) String() string {
	if c.name == script.Invoke.Name {
		return c.command.String()
	}
	return fmt.Sprintf("%s, which is %s,", last(c.name), c.command)
}

// last returns the last part of a name: a function or a method.
func last(name string) string { return name[strings.LastIndexAny(name, "#.")+1:] }

// link finds the files that modules import, and what they call.
func (r *reader) link() {
	r.open = r.open || len(r.Unread) > 0 // what is not read may lead to any module
	for file, m := range r.graph.Modules {
		for spec := range m.Imports {
			m.Imports[spec] = r.find(file, spec)
			name, _, _ := strings.Cut(spec, "?")
			ext := path.Ext(name)
			_, isScript := script.Extensions[ext]
			if m.Imports[spec] != "" || ext != "" && !isScript && !slices.Contains(leftOut, ext) || r.isPackage(spec) {
				continue
			}
			m.Open = true // it may lead to any module
			if strings.HasPrefix(spec, ".") {
				r.Unread = append(r.Unread, r.Shown(path.Join(path.Dir(file), name))+", which a script imports")
			}
		}
		maps.Copy(r.words, m.Names)
	}
	windows := r.windows()
	slices.Sort(r.Unread)
	r.Unread = slices.Compact(r.Unread)
	for _, file := range slices.Sorted(maps.Keys(r.graph.Modules)) {
		r.Files = append(r.Files, r.Shown(file))
		m := r.graph.Modules[file]
		for _, c := range m.Calls {
			r.call(m, c, call{source: r.sources[file], windows: windows[file]})
		}
	}
}

// find returns the file that a module imports, "" for a package and what is not found: by a path,
// or by one of the usual aliases after that of the server.
func (r *reader) find(from, spec string) string {
	for _, folder := range r.folders {
		for _, alias := range [][2]string{{"/", ""}, {"@/", "src"}, {"~/", "src"}, {"@/", ""}, {"~/", ""},
			{"$lib/", "src/lib"}, {"src/", "src"}} {
			if rest, ok := strings.CutPrefix(spec, alias[0]); ok {
				if file := r.graph.Local(path.Join(folder, alias[1], "x"), rest); file != "" {
					return file
				}
			}
		}
	}
	if strings.HasPrefix(spec, ".") || path.Ext(from) == ".html" { // an address may be without a dot
		return r.graph.Local(from, spec)
	}
	return ""
}

// isPackage reports whether an import is that of a package that is installed.
func (r *reader) isPackage(spec string) bool {
	part := strings.SplitN(spec, "/", 3)
	return r.packages[part[0]] || len(part) > 1 && r.packages[part[0]+"/"+part[1]]
}

// call keeps a call that is one of a command.
func (r *reader) call(m *script.Module, c script.Call, one call) {
	t := r.graph.Resolve(m, c.Function)
	certain := packages().certain[t]
	if len(certain) == 0 && t != script.Invoke {
		return
	}
	names, composed := r.graph.Texts(m, c.Argument)
	// The methods of windows and webviews handle these events without a command.
	isLocal := func(event string) bool { return event == "tauri://created" || event == "tauri://error" }
	if strings.Contains(t.Name, "#") && slices.ContainsFunc(names, isLocal) {
		return
	}
	one.name, one.offset, one.length = t.Name, m.Offset(c.Name), len(c.Name)
	for _, one.command = range certain {
		r.calls = append(r.calls, one)
	}
	if t != script.Invoke {
		return
	}
	if slices.Contains(names, "") {
		r.composed = r.composed || composed
		r.calls = append(r.calls, one)
		return
	}
	for _, name := range names {
		command, err := capability.ParseCommand(name)
		if err == nil && command.String() == name { // invoke takes no other names
			one.command = command
			if text, ok := c.Argument.(script.Text); ok {
				one.offset, one.length = m.Offset(text), len(text)
			}
			r.calls = append(r.calls, one)
		}
	}
}

// windows returns the labels of the windows whose pages lead to each module. If the page of a
// window is not known or may lead anywhere, nothing is.
func (r *reader) windows() map[string][]string {
	windows := make(map[string][]string)
	for _, config := range r.app.Configs("") {
		for w := range config.Root().Get("app").Get("windows").Items() {
			label, queue := cmp.Or(w.Get("label").Text(), "main"), []string{r.page(w.Get("url").Text())}
			if queue[0] == "" || r.open || len(r.labels) == 20 { // enough to tell
				return nil
			}
			r.labels = append(r.labels, label)
			for ; len(queue) > 0; queue = queue[1:] {
				m := r.graph.Modules[queue[0]]
				switch {
				case m == nil || slices.Contains(windows[queue[0]], label):
					continue
				case m.Open:
					return nil
				}
				windows[queue[0]] = append(windows[queue[0]], label)
				queue = slices.AppendSeq(queue, maps.Values(m.Imports))
			}
		}
	}
	return windows
}

// page returns the file of the page at an address, "" if it is not exactly one.
func (r *reader) page(address string) (page string) {
	address, _, _ = strings.Cut(strings.ReplaceAll(address, "#", "?"), "?")
	address = "/" + cmp.Or(strings.Trim(address, "/"), "index.html")
	for file := range r.graph.Modules {
		if path.Ext(file) == ".html" && strings.HasSuffix("/"+file, address) {
			if page != "" {
				return ""
			}
			page = file
		}
	}
	return page
}
