package script

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Graph resolves what the modules of a project refer to in each other.
type Graph struct {
	Modules map[string]*Module // by file
	// Find returns the file that a module imports, "" for a package.
	Find func(from, spec string) string
	// Returns returns what calling an export of a package returns, and whether it has the export.
	Returns func(t Target) (returned Target, known bool)
}

// Target is an export of a package, or a name of a file.
type Target struct {
	Spec     string // of the package, or the file
	Name     string // such as "invoke", "Window.getAll" or the method "Window#close", "*" for all of the module
	Instance bool   // an instance of the class
}

const apiPackage = "@tauri-apps/api"

// Invoke is the function that calls a command by its name.
var Invoke = Target{Spec: apiPackage + "/core", Name: "invoke"}

const maxLinks = 50

// Resolve returns what a value in a file refers to.
func (g *Graph) Resolve(file string, v Value) (Target, bool) { return g.resolve(file, v, 0) }

func (g *Graph) resolve(file string, v Value, depth int) (t Target, ok bool) {
	if depth > maxLinks {
		return t, false
	}
	switch v.Spec {
	case "":
		t, ok = Target{Spec: file, Name: v.Name}, v.Name != ""
	case Global:
		t, ok = global(Target{Spec: Global, Name: v.Name}), true
	default:
		t, ok = g.imported(file, v.Spec, v.Name, depth)
	}
	for _, op := range v.Ops {
		if !ok {
			break
		}
		t, ok = g.then(t, op, depth)
	}
	return t, ok
}

func (g *Graph) imported(from, spec, name string, depth int) (Target, bool) {
	if file := g.Find(from, spec); file != "" {
		return g.export(file, name, depth+1)
	}
	return member(spec, name), true
}

// member returns an export of a package.
func member(spec, name string) Target {
	if spec == apiPackage && name != "*" {
		return Target{Spec: spec + "/" + name, Name: "*"}
	}
	return Target{Spec: spec, Name: name}
}

// export returns what a file exports by a name.
func (g *Graph) export(file, name string, depth int) (Target, bool) {
	m := g.Modules[file]
	if m == nil || depth > maxLinks {
		return Target{}, false
	}
	if name == "*" {
		return Target{Spec: file, Name: name}, true
	}
	if v, ok := m.Exports[name]; ok {
		return g.resolve(file, v, depth+1)
	}
	for _, spec := range m.Stars {
		t, ok := g.imported(file, spec, name, depth+1)
		if ok && g.Modules[t.Spec] == nil {
			_, ok = g.Returns(t) // a package that may not have it
		}
		if ok {
			return t, true
		}
	}
	return Target{}, false
}

// then returns what an operation on a target leads to.
func (g *Graph) then(t Target, op string, depth int) (Target, bool) {
	m := g.Modules[t.Spec]
	switch {
	case op == "new":
		t.Instance = true
		return t, t.Name != "*"
	case op == "()" && m != nil:
		v, ok := m.Returns[t.Name]
		if !ok || t.Instance {
			return Target{}, false
		}
		return g.resolve(t.Spec, v, depth+1)
	case op == "()":
		returned, _ := g.Returns(t)
		return returned, returned != Target{} && !t.Instance
	case t.Name == "*" && m != nil:
		return g.export(t.Spec, op[1:], depth+1)
	case t.Name == "*":
		return member(t.Spec, op[1:]), true
	case t.Instance:
		return Target{Spec: t.Spec, Name: t.Name + "#" + op[1:]}, true
	}
	return global(Target{Spec: t.Spec, Name: t.Name + op}), strings.Count(t.Name, ".") < 4
}

var upper = regexp.MustCompile("[A-Z]") // in JavaScript, for a hyphen

// global returns the package that a global name stands for, with the option withGlobalTauri.
func global(t Target) Target {
	if t.Spec != Global {
		return t
	}
	name := t.Name
	for _, object := range []string{"window.", "globalThis.", "self."} {
		name = strings.TrimPrefix(name, object)
	}
	module, ok := strings.CutPrefix(name, "__TAURI__.")
	switch {
	case name == "__TAURI_INTERNALS__.invoke":
		return Invoke
	case !ok:
		return t
	case slices.Contains([]string{"app", "core", "dpi", "event", "image", "menu", "path", "tray", "webview",
		"webviewWindow", "window"}, module):
		return Target{Spec: apiPackage + "/" + module, Name: "*"}
	}
	plugin := upper.ReplaceAllStringFunc(module, func(letter string) string { return "-" + strings.ToLower(letter) })
	return Target{Spec: "@tauri-apps/plugin-" + plugin, Name: "*"}
}

// Local returns the file that an import by a relative path leads to, "" without one. Exists reports
// whether there is a file.
func Local(from, spec string, exists func(file string) bool) string {
	spec, _, _ = strings.Cut(spec, "?")
	base := path.Join(path.Dir(from), spec)
	typed := strings.TrimSuffix(strings.TrimSuffix(base, ".jsx"), ".js") // what TypeScript is compiled to
	for _, stem := range []string{base, base + "/index", typed} {
		for _, extension := range []string{"", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".mts", ".cjs", ".cts", ".vue",
			".svelte"} {
			if exists(stem + extension) {
				return stem + extension
			}
		}
	}
	return ""
}
