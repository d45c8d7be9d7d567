package main

import (
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"lessonkit.example/capability/internal/script"
)

// functions are those at the top of a file by name, "" for what is in none, and those of its
// classes: "Class", "Class#method" and "Class.static".
type functions map[string]*function

// function is what a function calls, or the constructor of a class.
type function struct {
	calls   []call
	isClass bool
	extends script.Ref
}

// call is a call of a function, or of a class with new.
type call struct {
	function, argument script.Ref
	maybe              bool // the function that contains the call does not always make it
}

// collect adds the functions of a file, and to the module what its methods return.
func (f functions) collect(m *script.Module, tree *js.AST) {
	js.Walk(&visitor{Module: m, functions: f, refs: make(script.Refs)}, tree)
}

// visitor collects functions. Its fields are about where in the file it is.
type visitor struct {
	*script.Module
	functions
	refs  script.Refs
	in    string // the name of the function
	depth int    // how many functions it is in
	class *js.ClassDecl
	maybe bool
}

// Enter implements [js.IVisitor].
func (v *visitor) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
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
		return v.nested("")
	case *js.FuncDecl:
		if n.Name != nil {
			return v.nested(string(n.Name.Data))
		}
		return v.nested("")
	case *js.MethodDecl:
		return v.method(n)
	case *js.ClassDecl:
		if n.Name != nil {
			w := v.within(string(n.Name.Data), 1, false)
			w.class = n
			class := w.function()
			class.isClass, class.extends = true, v.refs.Of(n.Extends)
			return w
		}
	}
	return v
}

// Exit implements [js.IVisitor].
func (*visitor) Exit(js.INode) {}

// within returns the visitor of what is in a part of a function.
func (v *visitor) within(in string, depth int, maybe bool) *visitor {
	w := *v
	w.in, w.depth, w.maybe = in, depth, maybe
	return &w
}

// nested returns the visitor of a function. What is in a function in another one belongs to that.
func (v *visitor) nested(name string) *visitor {
	if v.depth > 0 || name == "" {
		name = v.in
	}
	return v.within(name, v.depth+1, v.maybe || v.depth > 0)
}

func (v *visitor) method(n *js.MethodDecl) *visitor {
	name := strings.Trim(string(n.Name.Literal.Data), "\"'")
	if v.class == nil {
		return v.nested(name)
	}
	class := string(v.class.Name.Data)
	switch {
	case name == "constructor":
	case n.Static:
		class += "." + name
	default:
		class += "#" + name
	}
	w := v.within(class, 1, false)
	w.function() // it may call nothing
	return w
}

// function returns the function that the visitor is in.
func (v *visitor) function() *function {
	if v.functions[v.in] == nil {
		v.functions[v.in] = &function{}
	}
	return v.functions[v.in]
}

func (v *visitor) call(x js.IExpr, args js.Args) {
	if dot, ok := x.(*js.DotExpr); ok && v.class != nil {
		if l, ok := dot.X.(*js.LiteralExpr); ok {
			of := map[js.TokenType]js.IExpr{js.ThisToken: v.class.Name, js.SuperToken: v.class.Extends}[l.TokenType]
			x = &js.DotExpr{X: &js.NewExpr{X: of}, Y: dot.Y}
		}
	}
	c := call{function: v.refs.Of(x), maybe: v.maybe}
	if len(args.List) > 0 {
		c.argument = v.refs.Of(args.List[0].Value)
	}
	f := v.function()
	f.calls = append(f.calls, c)
}
