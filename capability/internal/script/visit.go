package script

import (
	"bytes"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// visitor collects calls. Its fields are about where in the file it is.
type visitor struct {
	*analysis
	in, class string
	maybe     bool
}

// Enter implements [js.IVisitor].
func (v visitor) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.LiteralExpr:
		if text := unquoted(n.Data); n.TokenType == js.StringToken && len(text) <= maxString {
			v.Names[text] = true
		}
	case *js.TemplateExpr:
		if len(n.List) == 0 && len(n.Tail) <= maxString {
			v.Names[unquoted(n.Tail)] = true
		}
	case *js.DotExpr:
		v.Names[memberName(n)] = true
		v.use(n)
	case *js.BindingObjectItem:
		if n.Key != nil {
			v.Names[unquoted(n.Key.Literal.Data)] = true
		} else if b, ok := n.Value.Binding.(*js.Var); ok {
			v.Names[string(b.Data)] = true
		}
	case *js.Var:
		v.use(n)
	case *js.IfStmt, *js.CondExpr, *js.CaseClause, *js.ForInStmt, *js.ForOfStmt, *js.WhileStmt:
		v.maybe = v.maybe || !skips(n)
	case *js.BinaryExpr:
		v.maybe = v.maybe || n.Op == js.AndToken || n.Op == js.OrToken || n.Op == js.NullishToken
	case *js.ReturnStmt:
		v.returns(n.Value)
	case *js.FuncDecl:
		v = v.function(nameOf(n.Name))
	case *js.ArrowFunc:
		v = v.function("")
	case *js.ClassDecl:
		v.class = nameOf(n.Name)
		extends, _ := v.eval(n.Extends)
		v.Classes[v.class] = extends
	case *js.MethodDecl:
		switch name := unquoted(n.Name.Literal.Data); {
		case v.class == "": // of an object
			v = v.function(name)
		case name == "constructor":
			v.in, v.maybe = v.class, false
		case n.Static:
			v.in, v.maybe = v.class+"."+name, false
		default:
			v.in, v.maybe = v.class+"#"+name, false
		}
	case *js.CallExpr:
		v.call(n.X, n.Args.List, "()")
	case *js.NewExpr:
		if n.Args != nil {
			v.call(n.X, n.Args.List, "new")
		}
	}
	return v
}

// Exit implements [js.IVisitor].
func (visitor) Exit(js.INode) {}

// function returns the visitor of a function's body.
func (v visitor) function(name string) visitor {
	if v.in == "" {
		v.in = name
	} else {
		v.maybe = true
	}
	return v
}

// skips reports whether a condition is the option with which the framework's classes do not create
// what they are about.
func skips(n js.INode) bool {
	s, ok := n.(*js.IfStmt)
	return ok && strings.Contains(s.Cond.String(), "skip")
}

// returns keeps what a function returns if that is a new object or the result of a call.
func (v visitor) returns(x js.IExpr) {
	if either, ok := x.(*js.CondExpr); ok {
		v.returns(either.X)
		v.returns(either.Y)
		return
	}
	if value, ok := v.eval(x); ok && v.in != "" && len(value.Ops) > 0 {
		if known, again := v.Returns[v.in]; again && !known.equal(value) {
			value = Value{} // more than one
		}
		v.Returns[v.in] = value
	}
}

// use keeps the name of what is used, and that of its module.
func (v visitor) use(x js.IExpr) {
	if value, ok := v.eval(x); ok && value.Spec != "" {
		v.Names[value.Name], v.Names[value.Spec] = true, true
	}
}

func (v visitor) call(x js.IExpr, args []js.Arg, op string) {
	value, ok := v.eval(x)
	if dot, is := x.(*js.DotExpr); !ok && is && v.class != "" {
		if l, is := dot.X.(*js.LiteralExpr); is && l.TokenType == js.ThisToken {
			value, ok = Value{Name: v.class, Ops: []string{"new", "." + memberName(dot)}}, true
		}
	}
	if !ok || len(v.Calls) >= maxCalls {
		return
	}
	for _, arg := range args {
		if object, ok := arg.Value.(*js.ObjectExpr); ok && op == "new" && strings.Contains(object.String(), "skip:") {
			return // it creates nothing
		}
	}
	c := Call{Value: value, At: v.place(x), In: v.in, Maybe: v.maybe}
	c.NameAt = c.At
	if len(args) > 0 {
		name := args[0].Value
		c.Names, c.Composed = v.strings(name), composed(name)
		if part := first(name); part != nil {
			c.NameAt = v.offset(part)
		}
	}
	v.Calls = append(v.Calls, c)
}

// place returns the offset of what is called. A variable has that of its first use only: the next
// one that is called is searched for, as calls are visited in about their order.
func (v visitor) place(x js.IExpr) int {
	part := first(x)
	name, ok := x.(*js.Var)
	if part != nil && !ok {
		return v.offset(part)
	}
	if !ok {
		return v.offset(nil)
	}
	of := variable(name)
	at, again := v.called[of]
	if !again {
		at = v.indexOf(of.Data)
	}
	for at >= 0 && at < len(v.code) {
		i := bytes.Index(v.code[at:], of.Data)
		if i < 0 {
			break
		}
		start := at + i
		at = start + len(of.Data)
		whole := start == 0 || !isLetter(v.code[start-1])
		if whole && at < len(v.code) && strings.IndexByte("(?`", v.code[at]) >= 0 {
			v.called[of] = at
			return v.offset(v.code[start:at])
		}
	}
	v.called[of] = len(v.code)
	return v.offset(of.Data)
}

func isLetter(c byte) bool {
	return c == '_' || c == '$' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// composed reports whether an expression puts strings together.
func composed(x js.IExpr) bool {
	switch x := x.(type) {
	case *js.TemplateExpr:
		return len(x.List) > 0
	case *js.BinaryExpr:
		return x.Op == js.AddToken
	}
	return false
}

// first returns a literal or the name of a member at the start of an expression, to find it in the
// source; nil if there is none.
func first(x js.IExpr) []byte {
	switch x := x.(type) {
	case *js.LiteralExpr:
		return x.Data
	case js.LiteralExpr:
		return x.Data
	case *js.TemplateExpr:
		if len(x.List) > 0 {
			return x.List[0].Value
		}
		return x.Tail
	case *js.DotExpr:
		return first(x.Y)
	case *js.GroupExpr:
		return first(x.X)
	case *js.CommaExpr:
		return first(x.List[len(x.List)-1])
	case *js.CallExpr:
		return first(x.X)
	case *js.CondExpr:
		return first(x.X)
	case *js.BinaryExpr:
		return first(x.X)
	}
	return nil
}
