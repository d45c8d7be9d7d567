package script

import (
	"bytes"
	"strings"
	"unsafe"

	"github.com/tdewolff/parse/v2/js"
)

// Module is what the scripts of a file import, export and call.
type Module struct {
	// Functions are those at the top of the file by name, "" for what is in none, and those of its
	// classes: "Class", "Class#method" and "Class.static".
	Functions map[string]*Function
	Exports   map[string]Ref // by name, "default" for the default one
	// Imports are the modules that it imports and the scripts of a page, each with its file, "" for
	// a package. Parse does not find the files.
	Imports map[string]string
	// Open means that it also imports modules by a name or a pattern that is computed.
	Open bool
	// Words are those of the source, with and without what joins the words of a name, those at the
	// start of a string again after ', and the names that are imported as "module#name", with * for
	// all of the module.
	Words map[string]bool

	names  map[string]Ref // what is imported, or declared at the top of the file
	stars  []Ref          // the modules of which everything is exported
	inits  map[*js.Var]Ref
	file   string
	source []byte
	code   []byte // that the compiler made of the source
	places places // of the code in the source
}

// Function is what a function calls and may return, or the constructor of a class.
type Function struct {
	Calls   []Call
	IsClass bool
	Extends Ref
	returns []Ref
}

// Call is a call of a function, or of a class with new.
type Call struct {
	Function Ref
	Argument Ref // the first one
	// At is where the function's name is in the code, ArgumentAt where the first argument is or, if
	// it is no string, the same; see [Module.Offset].
	At, ArgumentAt int
	Length         int  // of the name
	Maybe          bool // the function that contains the call does not always make it
}

func (m *Module) imports(s *js.ImportStmt) {
	m.Imports[string(unquoted(s.Module))] = ""
	if s.Default != nil {
		m.names[string(s.Default)] = m.imported(s.Module, []byte("default"))
	}
	for _, alias := range s.List {
		m.names[string(alias.Binding)] = m.imported(s.Module, nameOr(alias.Name, alias.Binding))
	}
}

// imported returns an export of a module that is imported.
func (m *Module) imported(spec, name []byte) Ref {
	m.Imports[string(unquoted(spec))] = ""
	m.Words[string(unquoted(spec))+"#"+string(name)] = true
	if string(name) == "*" {
		return module{text(spec)}
	}
	return member{module{text(spec)}, text(name)}
}

func (v *visitor) exports(s *js.ExportStmt) {
	for _, alias := range s.List {
		name, as := nameOr(alias.Name, alias.Binding), string(nameOr(alias.Binding, alias.Name))
		switch {
		case as == "*":
			v.stars = append(v.stars, v.imported(s.Module, name))
		case s.Module != nil:
			v.Exports[as] = v.imported(s.Module, name)
		default:
			v.Exports[as] = &js.Var{Data: name}
		}
	}
	as := func(of *js.Var, _ Ref) {
		if s.Default {
			v.Exports["default"] = of
		} else {
			v.Exports[string(of.Data)] = of
		}
	}
	switch d := s.Decl.(type) {
	case *js.VarDecl:
		for _, item := range d.List {
			eachVar(item.Binding, nil, as)
		}
	case *js.FuncDecl:
		eachVar(d.Name, nil, as)
	case *js.ClassDecl:
		eachVar(d.Name, nil, as)
	case js.IExpr:
		v.Exports["default"] = v.ref(d)
	}
}

// eachVar calls a function with each variable of a pattern and what initializes it, if the pattern
// is initialized with x.
func eachVar(b js.IBinding, x Ref, visit func(*js.Var, Ref)) {
	switch b := b.(type) {
	case *js.Var:
		if b != nil {
			visit(b, x)
		}
	case *js.BindingObject:
		for _, item := range b.List {
			if v, ok := item.Value.Binding.(*js.Var); ok && item.Key == nil {
				visit(v, member{x, text(v.Data)})
			} else if item.Key != nil && !item.Key.IsComputed() {
				eachVar(item.Value.Binding, member{x, text(item.Key.Literal.Data)}, visit)
			}
		}
	}
}

// visitor collects calls. Its fields are about where in the file it is.
type visitor struct {
	*Module
	in     *Function
	depth  int           // how many functions it is in
	class  *js.ClassDecl // nil outside of classes, and in those without a name
	maybe  bool
	called map[*js.Var]int // where the search for the next call of a variable begins
	refs   map[*js.CallExpr]Ref
}

// Enter implements [js.IVisitor].
func (v *visitor) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.ImportStmt:
		v.imports(n)
	case *js.ExportStmt:
		v.exports(n)
	case *js.VarDecl:
		for _, item := range n.List {
			if n.TokenType == js.ConstToken && item.Default != nil {
				eachVar(item.Binding, v.ref(item.Default), func(of *js.Var, x Ref) { v.inits[of] = x })
			}
		}
	case *js.ReturnStmt:
		if v.depth == 1 {
			v.in.returns = append(v.in.returns, alternatives(v.ref(n.Value))...)
		}
	case *js.CallExpr:
		v.call(n.X, n.Args)
	case *js.NewExpr:
		if n.Args != nil {
			v.call(n.X, *n.Args)
		}
	case *js.BinaryExpr:
		if n.Op == js.AndToken || n.Op == js.OrToken || n.Op == js.NullishToken {
			return v.within(v.in, v.depth, true)
		}
	case *js.IfStmt, *js.CondExpr, *js.CaseClause, *js.ForInStmt, *js.ForOfStmt, *js.WhileStmt:
		return v.within(v.in, v.depth, true)
	case *js.ArrowFunc:
		return v.within(v.in, v.depth+1, v.maybe || v.depth > 0)
	case *js.FuncDecl:
		return v.function(n.Name)
	case *js.MethodDecl:
		return v.method(n)
	case *js.ClassDecl:
		if n.Name != nil {
			w := v.within(v.of(string(n.Name.Data)), 1, false)
			w.class, w.in.IsClass, w.in.Extends = n, true, v.ref(n.Extends)
			return w
		}
	}
	return v
}

// within returns the visitor of what is in a part of a function.
func (v *visitor) within(in *Function, depth int, maybe bool) *visitor {
	w := *v
	w.in, w.depth, w.maybe = in, depth, maybe
	return &w
}

// of returns the function of a name.
func (m *Module) of(name string) *Function {
	if m.Functions[name] == nil {
		m.Functions[name] = &Function{}
	}
	return m.Functions[name]
}

// function returns the visitor of a function, or of a method of an object. What is in a function in
// another one belongs to that.
func (v *visitor) function(name *js.Var) *visitor {
	in := v.in
	if v.depth == 0 && name != nil {
		in = v.of(string(name.Data))
	}
	return v.within(in, v.depth+1, v.maybe || v.depth > 0)
}

func (v *visitor) method(n *js.MethodDecl) *visitor {
	name := unquoted(n.Name.Literal.Data)
	if v.class == nil {
		return v.function(&js.Var{Data: name})
	}
	class := string(v.class.Name.Data)
	switch {
	case string(name) == "constructor":
	case n.Static:
		class += "." + string(name)
	default:
		class += "#" + string(name)
	}
	return v.within(v.of(class), 1, false)
}

// Exit implements [js.IVisitor].
func (*visitor) Exit(js.INode) {}

func (v *visitor) call(x js.IExpr, args js.Args) {
	c := Call{Function: v.ref(x), Maybe: v.maybe}
	if len(args.List) > 0 {
		c.Argument = v.ref(args.List[0].Value)
	}
	argument, isText := c.Argument.(text)
	switch x := x.(type) {
	case *js.LiteralExpr:
		switch {
		case x.TokenType != js.ImportToken:
		case isText:
			v.imported(argument, []byte{'*'})
		default:
			v.Open = true
		}
	case *js.Var:
		c.At, c.Length = v.place(variable(x)), len(x.Data)
	case *js.DotExpr:
		c.At, c.Length = v.index(memberName(x)), len(memberName(x))
		if _, ok := x.X.(*js.ImportMetaExpr); ok { // such as import.meta.glob
			v.Open = true
		}
		if l, ok := x.X.(*js.LiteralExpr); ok && v.class != nil {
			of := map[js.TokenType]js.IExpr{js.ThisToken: v.class.Name, js.SuperToken: v.class.Extends}[l.TokenType]
			c.Function = v.ref(&js.DotExpr{X: &js.NewExpr{X: of}, Y: x.Y})
		}
	}
	if c.ArgumentAt = c.At; isText {
		c.ArgumentAt = v.index(argument)
	}
	v.in.Calls = append(v.in.Calls, c)
}

// index returns where a part of the code is in it.
func (m *Module) index(part []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(m.code))))
}

// place returns where a variable is called. The parser tells the place of its first use only: the
// next one that is called is searched for, as calls are visited in about their order.
func (v *visitor) place(name *js.Var) int {
	first := v.index(name.Data)
	for at := max(first, v.called[name]); ; {
		i := bytes.Index(v.code[at:], name.Data)
		if i < 0 {
			v.called[name] = len(v.code)
			return first
		}
		start := at + i
		at = start + len(name.Data)
		isPart := start > 0 && (v.code[start-1] == '.' || isLetter(v.code[start-1]))
		if !isPart && at < len(v.code) && strings.IndexByte("(?`", v.code[at]) >= 0 {
			v.called[name] = at
			return start
		}
	}
}

func isLetter(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// variable returns the declaration of a variable.
func variable(v *js.Var) *js.Var {
	for v.Link != nil {
		v = v.Link
	}
	return v
}

func memberName(x *js.DotExpr) []byte {
	switch y := x.Y.(type) {
	case *js.LiteralExpr:
		return y.Data
	case js.LiteralExpr: // after await
		return y.Data
	case *js.Var:
		return y.Data
	}
	return nil
}

func nameOr(name, or []byte) []byte {
	if len(name) == 0 {
		name = or
	}
	return unquoted(name)
}

// unquoted returns a name without the quotes that it may have.
func unquoted(text []byte) []byte { return bytes.Trim(text, "\"'`") }
