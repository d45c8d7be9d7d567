package script

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// Module is what a file imports, exports and calls.
type Module struct {
	Exports map[string]Value // by name, "default" for the default one
	Stars   []string         // the modules of which everything is exported
	Calls   []Call           // of what is imported or global, or defined in the file
	Classes map[string]Value // what the classes of the file extend, a Value without Name if nothing
	Returns map[string]Value // what functions return by "return new Class"
	// Names are those after dots, of imports and their modules and of globals, the short strings in
	// the file, and the words of its templates.
	Names map[string]bool
}

// Value is what an expression refers to: an export of another module, or a name of this one.
type Value struct {
	// Spec is the module as the import names it: "" is the file itself, and Global what every
	// script has.
	Spec string
	// Name is the name of the export, "*" for all of the module.
	Name string
	// Ops lead from the export to the value: ".close" a member, "()" what a call returns, "new" an
	// instance.
	Ops []string
}

// Global is the Spec of what every script has.
const Global = "\x00global"

// Then returns the value that an operation leads to.
func (v Value) Then(op string) Value {
	v.Ops = append(slices.Clip(v.Ops), op)
	return v
}

func (v Value) equal(w Value) bool {
	return v.Spec == w.Spec && v.Name == w.Name && slices.Equal(v.Ops, w.Ops)
}

// Call is a call of a value, or "new" of one.
type Call struct {
	Value
	// At is the offset of what is called, NameAt that of the first argument if it is a string, else
	// At.
	At, NameAt int
	// Names are the strings that the first argument may be. Without one it is computed.
	Names    []string
	Composed bool // it is put together of strings
	// In is the function of the file, "Class#method" or "Class.static", that contains the call.
	In string
	// Maybe means that the function does not always call it.
	Maybe bool
}

const (
	maxString = 100
	maxOps    = 8
	maxCalls  = 100_000
)

// bound is what a variable is initialized with: the member at a path of an expression.
type bound struct {
	init js.IExpr
	path []string
}

type analysis struct {
	*Module
	imports map[string]Value
	locals  map[string]*js.Var // declared at the top of the file
	inits   map[*js.Var]bound
	called  map[*js.Var]int       // where the search for the next call of a variable begins
	code    []byte                // that the compiler made of the source
	indexOf func(part []byte) int // of a part of the code in it
	offset  func(part []byte) int // of it in the file
	depth   int
}

// declare collects imports, exports, and the constants of all scopes.
func (a *analysis) declare(tree *js.AST) {
	for _, statement := range tree.List {
		if s, ok := statement.(*js.ImportStmt); ok {
			spec := unquoted(s.Module)
			a.Names[spec] = true
			if s.Default != nil {
				a.imports[string(s.Default)] = Value{Spec: spec, Name: "default"}
			}
			for _, alias := range s.List {
				if name := nameOr(alias.Name, alias.Binding); len(alias.Binding) > 0 {
					a.Names[name] = true
					a.imports[string(alias.Binding)] = Value{Spec: spec, Name: name}
				}
			}
		}
	}
	for _, v := range tree.Declared {
		a.locals[string(v.Data)] = v
	}
	js.Walk(constants{a}, tree)
	for _, statement := range tree.List {
		if s, ok := statement.(*js.ExportStmt); ok {
			a.export(s)
		}
	}
}

func nameOr(name, or []byte) string {
	if len(name) == 0 {
		name = or
	}
	return unquoted(name)
}

func (a *analysis) export(s *js.ExportStmt) {
	if s.Module != nil {
		spec := unquoted(s.Module)
		a.Names[spec] = true
		for _, alias := range s.List {
			switch name := nameOr(alias.Name, alias.Binding); {
			case name == "*" && (len(alias.Binding) == 0 || string(alias.Binding) == "*"):
				a.Stars = append(a.Stars, spec)
			default:
				a.Exports[nameOr(alias.Binding, alias.Name)] = Value{Spec: spec, Name: name}
			}
		}
		return
	}
	for _, alias := range s.List {
		local := nameOr(alias.Name, alias.Binding)
		a.Exports[nameOr(alias.Binding, alias.Name)] = a.named(local)
	}
	switch d := s.Decl.(type) {
	case *js.VarDecl:
		for _, item := range d.List {
			eachVar(item.Binding, nil, func(v *js.Var, _ []string) {
				a.Exports[string(v.Data)] = a.named(string(v.Data))
			})
		}
	case *js.FuncDecl:
		a.exportAs(s, Value{Name: nameOf(d.Name)})
	case *js.ClassDecl:
		a.exportAs(s, Value{Name: nameOf(d.Name)})
	case nil:
	default:
		if v, ok := a.eval(d); ok {
			a.exportAs(s, v)
		}
	}
}

// exportAs exports a declaration by its own name or as the default.
func (a *analysis) exportAs(s *js.ExportStmt, v Value) {
	name := v.Name
	if s.Default {
		name = "default"
	}
	a.Exports[name] = v
}

func nameOf(v *js.Var) string {
	if v == nil {
		return ""
	}
	return string(v.Data)
}

// named returns the value of a name at the top of the file.
func (a *analysis) named(name string) Value {
	if v, ok := a.imports[name]; ok {
		return v
	}
	if v := a.locals[name]; v != nil {
		if value, ok := a.eval(v); ok {
			return value
		}
	}
	return Value{Name: name}
}

// constants collects what constants are initialized with.
type constants struct{ *analysis }

func (c constants) Enter(n js.INode) js.IVisitor {
	if n, ok := n.(*js.VarDecl); ok && n.TokenType == js.ConstToken {
		for _, item := range n.List {
			if item.Default != nil {
				eachVar(item.Binding, nil, func(v *js.Var, path []string) { c.inits[v] = bound{item.Default, path} })
			}
		}
	}
	return c
}

func (constants) Exit(js.INode) {}

// eachVar calls a function with each variable of a pattern, and the members that lead to it.
func eachVar(b js.IBinding, path []string, visit func(*js.Var, []string)) {
	switch b := b.(type) {
	case *js.Var:
		visit(b, path)
	case *js.BindingObject:
		for _, item := range b.List {
			name := ""
			if item.Key != nil && !item.Key.IsComputed() {
				name = unquoted(item.Key.Literal.Data)
			} else if v, ok := item.Value.Binding.(*js.Var); ok && item.Key == nil {
				name = string(v.Data)
			}
			if name != "" && len(path) < maxOps {
				eachVar(item.Value.Binding, append(slices.Clip(path), "."+name), visit)
			}
		}
	}
}

// variable returns the declaration of a variable.
func variable(v *js.Var) *js.Var {
	for v.Link != nil {
		v = v.Link
	}
	return v
}

// eval returns what an expression refers to.
func (a *analysis) eval(x js.IExpr) (Value, bool) {
	if a.depth++; a.depth > 50 {
		a.depth--
		return Value{}, false
	}
	defer func() { a.depth-- }()
	switch x := x.(type) {
	case *js.Var:
		return a.evalVar(variable(x))
	case *js.GroupExpr:
		return a.eval(x.X)
	case *js.CommaExpr:
		return a.eval(x.List[len(x.List)-1])
	case *js.UnaryExpr:
		if x.Op == js.AwaitToken {
			return a.eval(x.X)
		}
	case *js.DotExpr:
		return a.evalThen(x.X, "."+memberName(x))
	case *js.IndexExpr:
		if names := a.strings(x.Y); len(names) == 1 {
			return a.evalThen(x.X, "."+names[0])
		}
	case *js.NewExpr:
		return a.evalThen(x.X, "new")
	case *js.CallExpr:
		if l, ok := x.X.(*js.LiteralExpr); ok && l.TokenType == js.ImportToken && len(x.Args.List) > 0 {
			if names := a.strings(x.Args.List[0].Value); len(names) == 1 {
				return Value{Spec: names[0], Name: "*"}, true
			}
			return Value{}, false
		}
		return a.evalThen(x.X, "()")
	}
	return Value{}, false
}

func (a *analysis) evalVar(v *js.Var) (Value, bool) {
	name := string(v.Data)
	if local := a.locals[name]; v.Decl == js.NoDecl && local != nil { // used before it is declared
		v = local
	}
	switch b, ok := a.inits[v]; {
	case ok:
		value, ok := a.eval(b.init)
		if !ok {
			return Value{}, false
		}
		for _, op := range b.path {
			value = value.Then(op)
		}
		return value, len(value.Ops) <= maxOps
	case v.Decl == js.NoDecl:
		if value, ok := a.imports[name]; ok {
			return value, true
		}
		return Value{Spec: Global, Name: name}, true
	case v.Decl == js.FunctionDecl || v.Decl == js.LexicalDecl:
		return Value{Name: name}, true
	}
	return Value{}, false
}

func (a *analysis) evalThen(x js.IExpr, op string) (Value, bool) {
	value, ok := a.eval(x)
	if !ok || len(value.Ops) >= maxOps {
		return Value{}, false
	}
	return value.Then(op), true
}

func memberName(x *js.DotExpr) string {
	switch y := x.Y.(type) {
	case *js.LiteralExpr:
		return string(y.Data)
	case js.LiteralExpr: // after await
		return string(y.Data)
	case *js.Var:
		return string(y.Data)
	}
	return ""
}

// strings returns the strings that an expression may be, nil if that is not known.
func (a *analysis) strings(x js.IExpr) []string {
	switch x := x.(type) {
	case *js.LiteralExpr:
		if x.TokenType == js.StringToken && !bytes.ContainsRune(x.Data, '\\') {
			return []string{unquoted(x.Data)}
		}
	case *js.TemplateExpr:
		if x.Tag == nil && len(x.List) == 0 && !bytes.ContainsRune(x.Tail, '\\') {
			return []string{unquoted(x.Tail)}
		}
	case *js.GroupExpr:
		return a.strings(x.X)
	case *js.CondExpr:
		if one, other := a.strings(x.X), a.strings(x.Y); one != nil && other != nil && len(one)+len(other) < 100 {
			return append(one, other...)
		}
	case *js.Var:
		if b, ok := a.inits[variable(x)]; ok && len(b.path) == 0 {
			if l, ok := b.init.(*js.LiteralExpr); ok {
				return a.strings(l)
			}
		}
	}
	return nil
}

// unquoted returns a name without the quotes that it may have.
func unquoted(text []byte) string { return strings.Trim(string(text), "\"'`") }
