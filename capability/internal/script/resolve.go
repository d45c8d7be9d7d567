package script

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// Graph finds what the modules of a project refer to in each other. It is not safe for concurrent
// use.
type Graph struct {
	Modules map[string]*Module // by file
	Returns map[Target]Target  // what calling each of the exports of packages returns, and the packages

	known map[any]Target // of variables, of exports, and of results by the function with "()"
}

// Target is an export of a package, or a name of a file. The zero Target is not known.
type Target struct {
	Spec     string // of the package, or the file
	Name     string // such as "invoke", "Window.getAll" or the method "Window#close", "*" for all of the module
	Instance bool   // an instance of the class
}

const (
	apiPackage = "@tauri-apps/api"
	MaxName    = 100  // the bytes of a name
	maxStars   = 1000 // modules that one exports all of, also through others
)

// Invoke is the function that calls a command by its name.
var Invoke = Target{Spec: apiPackage + "/core", Name: "invoke"}

// What every script has, some with the option withGlobalTauri.
var (
	scope   = Target{Spec: "\x00scope", Name: "*"}
	globals = map[string]Target{"window": scope, "globalThis": scope, "self": scope,
		"__TAURI__": {Spec: apiPackage, Name: "*"}, "__TAURI_INTERNALS__": {Spec: apiPackage + "/core", Name: "*"}}
)

// Ref is an expression that may refer to something: a [*js.Var], one of the types below, or nil.
type Ref any

type (
	Text     []byte             // a string, with its quotes
	composed struct{}           // a string that is put together of parts
	Either   struct{ X, Y Ref } // what one of two expressions refers to
	module   struct{ name Ref }
	member   struct{ of, name Ref }
	instance struct{ of Ref }
	result   struct{ of Ref }
)

// Refs makes references of the expressions of a file. It keeps those of calls, for chains of them.
type Refs map[*js.CallExpr]Ref

// Of returns what an expression may refer to.
func (r Refs) Of(x js.IExpr) Ref {
	switch x := x.(type) {
	case *js.Var:
		return variable(x)
	case *js.GroupExpr:
		return r.Of(x.X)
	case *js.UnaryExpr:
		if x.Op == js.AwaitToken {
			return r.Of(x.X)
		}
	case *js.LiteralExpr:
		if x.TokenType == js.StringToken {
			return Text(x.Data)
		}
	case *js.TemplateExpr:
		if x.Tag == nil && len(x.List) == 0 {
			return Text(x.Tail)
		}
		return composed{}
	case *js.BinaryExpr:
		return composed{}
	case *js.CondExpr:
		return Either{r.Of(x.X), r.Of(x.Y)}
	case *js.DotExpr:
		return member{r.Of(x.X), Text(memberName(x))}
	case *js.IndexExpr:
		return member{r.Of(x.X), r.Of(x.Y)}
	case *js.NewExpr:
		return instance{r.Of(x.X)}
	case *js.CallExpr:
		l, ok := x.X.(*js.LiteralExpr)
		switch isImport := ok && l.TokenType == js.ImportToken && len(x.Args.List) > 0; {
		case r[x] != nil: // a part of a chain of calls
		case isImport:
			r[x] = module{r.Of(x.Args.List[0].Value)}
		default:
			r[x] = result{r.Of(x.X)}
		}
		return r[x]
	}
	return nil
}

// alternatives returns what a reference may be: both sides of a condition.
func alternatives(r Ref) []Ref {
	if r, ok := r.(Either); ok {
		return append(alternatives(r.X), alternatives(r.Y)...)
	}
	return []Ref{r}
}

// text returns the string that a reference is within a module, "" if that is not known.
func (m *Module) text(r Ref) string {
	if v, ok := r.(*js.Var); ok {
		r = m.inits[v]
	}
	quoted, _ := r.(Text)
	return string(unquoted(quoted))
}

// Texts returns the strings that a reference of a module may be, "" for one that is computed, and
// whether one is put together of parts.
func (g *Graph) Texts(m *Module, r Ref) (texts []string, isComposed bool) {
	for _, one := range alternatives(r) {
		text, t := m.text(one), g.Resolve(m, one)
		if of := g.Modules[t.Spec]; text == "" && of != nil {
			text = of.text(of.names[t.Name])
		}
		texts = append(texts, text)
		isComposed = isComposed || one == composed{}
	}
	return texts, isComposed
}

// Resolve returns what an expression of a module refers to.
func (g *Graph) Resolve(m *Module, r Ref) (t Target) {
	switch r := r.(type) {
	case *js.Var:
		return g.variable(m, r)
	case module:
		spec := m.text(r.name)
		return Target{Spec: cmp.Or(m.Imports[spec], spec), Name: "*"}
	case member:
		return g.member(g.Resolve(m, r.of), m.text(r.name))
	case instance:
		t = g.Resolve(m, r.of)
		t.Instance = t.Name != "" && t.Name != "*"
	case result:
		return g.Result(g.Resolve(m, r.of))
	}
	return t
}

func (g *Graph) variable(m *Module, v *js.Var) Target {
	name := string(v.Data)
	x, known := m.inits[v]
	if v.Decl == js.NoDecl { // imported, used before it is declared, or global
		x, known = m.names[name]
	}
	switch t := g.once(v, func() Target { return g.Resolve(m, x) }); {
	case !known && v.Decl == js.NoDecl:
		return globals[name]
	case t == Target{} && m.names[name] == Ref(v):
		return Target{Spec: m.file, Name: name}
	default:
		return t
	}
}

// once finds a target that is not known, and none while it is being found.
func (g *Graph) once(of any, find func() Target) Target {
	if g.known == nil {
		g.known = make(map[any]Target)
	}
	if _, again := g.known[of]; !again {
		g.known[of] = Target{}
		g.known[of] = find()
	}
	return g.known[of]
}

// Export returns what a file of the project exports by a name, also by "export *".
func (g *Graph) Export(file, name string) Target {
	return g.once(Target{Spec: file, Name: name}, func() Target {
		seen := map[string]bool{file: true}
		for queue := []string{file}; len(queue) > 0 && len(seen) < maxStars; queue = queue[1:] {
			m := g.Modules[queue[0]]
			if x, ok := m.Exports[name]; ok {
				return g.Resolve(m, x)
			}
			for _, star := range m.stars {
				t := g.Resolve(m, star)
				if g.Modules[t.Spec] != nil && !seen[t.Spec] {
					seen[t.Spec] = true
					queue = append(queue, t.Spec)
				}
				t.Name = name
				if _, known := g.Returns[t]; known { // else a package that may not have it
					return t
				}
			}
		}
		return Target{}
	})
}

// member returns a member of a target.
func (g *Graph) member(t Target, name string) Target {
	switch {
	case t == Target{} || name == "" || len(t.Name)+len(name) > MaxName:
		return Target{}
	case t.Instance:
		return Target{Spec: t.Spec, Name: t.Name + "#" + name}
	case t.Name != "*":
		return Target{Spec: t.Spec, Name: t.Name + "." + name}
	case g.Modules[t.Spec] != nil:
		return g.Export(t.Spec, name)
	case t == scope:
		return globals[name]
	case t.Spec != apiPackage:
		return Target{Spec: t.Spec, Name: name}
	}
	in := Target{Spec: apiPackage + "/" + name, Name: "*"}
	if _, known := g.Returns[in]; !known { // what __TAURI__ has beside the modules of the API are plugins
		in.Spec = "@tauri-apps/plugin-" + strings.ToLower(upper.ReplaceAllString(name, "-$0"))
	}
	return in
}

var upper = regexp.MustCompile("[A-Z]") // in JavaScript, for a hyphen

// Result returns what a call of a target returns.
func (g *Graph) Result(t Target) Target {
	m := g.Modules[t.Spec]
	if m == nil || t.Instance {
		return g.Returns[t] // which has no instances
	}
	return g.once(Target{Spec: t.Spec, Name: t.Name + "()"}, func() (all Target) {
		for _, x := range alternatives(m.Returns[t.Name]) {
			one := g.Resolve(m, x)
			if all != (Target{}) && one != (Target{}) && all != one {
				return Target{} // more than one
			}
			all = cmp.Or(all, one)
		}
		return all
	})
}

// Local returns the file that an import by a relative path leads to, "" without one.
func (g *Graph) Local(from, spec string) string {
	spec, _, _ = strings.Cut(spec, "?")
	base := path.Join(path.Dir(from), spec)
	typed := strings.TrimSuffix(strings.TrimSuffix(base, ".jsx"), ".js") // what TypeScript is compiled to
	for _, stem := range []string{base, base + "/index", typed} {
		for _, extension := range []string{"", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".mts", ".cjs", ".cts", ".vue",
			".svelte"} {
			if g.Modules[stem+extension] != nil {
				return stem + extension
			}
		}
	}
	return ""
}
