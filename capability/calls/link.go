package calls

import (
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
	command  capability.Command
	composed bool   // the name of the command is put together of parts
	name     string // of the function that is called, such as "invoke" and "Window#close"
	file     string
	offset   int
	length   int
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

// link finds the files that modules import, and collects what they use.
func (r *reader) link() {
	aliases := [][2]string{{"/", ""}, {"@/", "src"}, {"~/", "src"}, {"@/", ""}, {"~/", ""}, {"$lib/", "src/lib"},
		{"src/", "src"}} // the usual ones, after the one of the server
	exists := func(file string) bool { return r.graph.Modules[file] != nil }
	r.graph.Find = func(from, spec string) string {
		if strings.HasPrefix(spec, ".") {
			return script.Local(from, spec, exists)
		}
		for _, a := range aliases {
			if rest, ok := strings.CutPrefix(spec, a[0]); ok {
				if file := script.Local(path.Join(r.root, a[1], "x"), "./"+rest, exists); file != "" {
					return file
				}
			}
		}
		return ""
	}
	for _, m := range r.graph.Modules {
		maps.Copy(r.names, m.Names)
		for text := range m.Names {
			if _, command, ok := strings.Cut(text, "|"); ok { // of a plugin that is a part of the application
				r.names[command] = true
			}
		}
	}
}

// calls returns what is called by known names, and the calls by computed ones.
func (f *Frontend) calls() (known, computed []call) {
	for _, file := range slices.Sorted(maps.Keys(f.graph.Modules)) {
		for _, c := range f.graph.Modules[file].Calls {
			t, ok := f.graph.Resolve(file, c.Value)
			if !ok || t.Instance {
				continue
			}
			one := call{name: t.Name, file: file, offset: c.At, length: len(last(t.Name))}
			if t != script.Invoke {
				if function := packages().functions[t]; function != nil {
					for _, one.command = range function.certain {
						known = append(known, one)
					}
				}
				continue
			}
			if c.Names == nil {
				one.composed = c.Composed
				computed = append(computed, one)
			}
			for _, name := range c.Names {
				command, err := capability.ParseCommand(name)
				if err == nil && command.String() == name { // invoke takes no other names
					one.command, one.offset, one.length = command, c.NameAt, len(name)+2
					known = append(known, one)
				}
			}
		}
	}
	return known, computed
}
