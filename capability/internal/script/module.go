package script

import (
	"bytes"
	"strings"
	"unsafe"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"
	"github.com/tdewolff/parse/v2/js"
)

// Module is what the scripts of a file import, export and call.
type Module struct {
	Calls   []Call         // in the order of the tree
	Exports map[string]Ref // by name, "default" for the default one
	Returns map[string]Ref // what the functions at the top of the file may return, by name
	// Imports are the modules that it imports and the scripts of a page, each with its file, "" for
	// a package. Parse does not find the files.
	Imports map[string]string
	// Open means that it also imports modules by a name or a pattern that is computed.
	Open bool
	// Names are those that it imports, as "module#name", with * for all of the module.
	Names map[string]bool

	names  map[string]Ref  // what is imported, or declared at the top of the file, and "A.b" in a constant A
	stars  []Ref           // the modules of which everything is exported
	inits  map[*js.Var]Ref // what constants are initialized with
	file   string
	loader api.Loader
	source []byte
	code   []byte // that the compiler made of the source

	// What finds places of the code in the source.
	places           *sourcemap.Consumer
	inCode, inSource []int // where lines begin
	line, column, at int   // in the source, of the last place
}

// Call is a call of a function, or of a class with new.
type Call struct {
	Function Ref
	Name     []byte // of the function, as a part of the code; see [Module.Offset]
	Argument Ref    // the first one
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
	m.Names[string(unquoted(spec))+"#"+string(name)] = true
	if string(name) == "*" {
		return module{Text(spec)}
	}
	return member{module{Text(spec)}, Text(name)}
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
	as := func(of *js.Var, _ Ref) { v.Exports[string(of.Data)] = of }
	if s.Default {
		as = func(of *js.Var, _ Ref) { v.Exports["default"] = of }
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
		v.Exports["default"] = v.refs.Of(d)
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
				visit(v, member{x, Text(v.Data)})
			} else if item.Key != nil && !item.Key.IsComputed() {
				eachVar(item.Value.Binding, member{x, Text(item.Key.Literal.Data)}, visit)
			}
		}
	}
}

// members keeps the strings in an object that a constant at the top of the file is.
func (v *visitor) members(constant js.BindingElement) {
	of, _ := constant.Binding.(*js.Var)
	object, ok := constant.Default.(*js.ObjectExpr)
	if !ok || of == nil || v.names[string(of.Data)] != Ref(of) {
		return
	}
	for _, p := range object.List {
		if text, ok := v.refs.Of(p.Value).(Text); ok && p.Name != nil && !p.Name.IsComputed() {
			v.names[string(of.Data)+"."+string(unquoted(p.Name.Literal.Data))] = text
		}
	}
}

// visitor collects calls. Its fields are about where in the file it is.
type visitor struct {
	*Module
	in     string          // the function, class or method, if it is at the top of the file
	super  Ref             // what the class extends
	called map[*js.Var]int // where the search for the next call of a variable begins
	refs   Refs
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
				eachVar(item.Binding, v.refs.Of(item.Default), func(of *js.Var, x Ref) { v.inits[of] = x })
				v.members(item)
			}
		}
	case *js.ReturnStmt:
		if v.in != "" {
			v.Returns[v.in] = Either{v.Returns[v.in], v.refs.Of(n.Value)}
		}
	case *js.CallExpr:
		v.call(n.X, n.Args)
	case *js.NewExpr:
		if n.Args != nil {
			v.call(n.X, *n.Args)
		}
	case *js.FuncDecl:
		return v.within(n.Name, v.super)
	case *js.ArrowFunc:
		return v.within(nil, v.super)
	case *js.MethodDecl:
		w := v.within(nil, v.super)
		w.in = v.in + map[bool]string{true: ".", false: "#"}[n.Static] + string(unquoted(n.Name.Literal.Data))
		return w
	case *js.ClassDecl:
		return v.within(n.Name, v.refs.Of(n.Extends))
	}
	return v
}

// within returns the visitor of what is in a function or class.
func (v *visitor) within(name *js.Var, super Ref) *visitor {
	w := *v
	w.in, w.super = "", super
	if name != nil && v.names[string(name.Data)] == Ref(name) {
		w.in = string(name.Data)
	}
	return &w
}

// Exit implements [js.IVisitor].
func (*visitor) Exit(js.INode) {}

func (v *visitor) call(x js.IExpr, args js.Args) {
	c := Call{Function: v.refs.Of(x)}
	if len(args.List) > 0 {
		c.Argument = v.refs.Of(args.List[0].Value)
	}
	switch x := x.(type) {
	case *js.LiteralExpr:
		if spec, ok := c.Argument.(Text); ok && x.TokenType == js.ImportToken {
			v.imported(spec, []byte{'*'})
		} else if x.TokenType == js.ImportToken {
			v.Open = true
		}
	case *js.Var:
		c.Name = v.place(variable(x))
	case *js.IndexExpr:
		c.Name, _ = v.refs.Of(x.Y).(Text)
	case *js.DotExpr:
		c.Name = memberName(x)
		if _, ok := x.X.(*js.ImportMetaExpr); ok { // such as import.meta.glob
			v.Open = true
		}
		if l, ok := x.X.(*js.LiteralExpr); ok && l.TokenType == js.SuperToken {
			c.Function = member{instance{v.super}, Text(memberName(x))}
		}
	}
	v.Calls = append(v.Calls, c)
}

// index returns where a part of the code is in it.
func (m *Module) index(part []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(m.code))))
}

// place returns the name of a variable where it is called. The parser tells the place of its first
// use only: the next one that is called is searched for, as calls are visited in about their order.
func (v *visitor) place(name *js.Var) []byte {
	for at := max(v.index(name.Data), v.called[name]); ; {
		i := bytes.Index(v.code[at:], name.Data)
		if i < 0 {
			v.called[name] = len(v.code)
			return name.Data
		}
		start := at + i
		at = start + len(name.Data)
		isPart := start > 0 && (v.code[start-1] == '.' || isLetter(v.code[start-1]))
		if !isPart && at < len(v.code) && strings.IndexByte("(?`", v.code[at]) >= 0 {
			v.called[name] = at
			return v.code[start:at]
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
