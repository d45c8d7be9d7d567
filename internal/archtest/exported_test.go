package archtest

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// conventional are methods that callers reach through an interface of the standard library, or
// through one that other packages declare where they need it.
var conventional = []string{
	"Error", "Unwrap", "Is", "As", "Permanent", "RetryAfter", "String", "LogValue",
	"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText",
}

// load type-checks the module with its tests, once. What other modules export is read as compiled.
var load = sync.OnceValues(func() ([]*packages.Package, error) {
	all, err := packages.Load(&packages.Config{
		Dir:   "../..",
		Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedExportFile |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
	}, "./...")
	if err == nil && packages.PrintErrors(all) > 0 {
		err = errors.New("the module does not compile")
	}
	return all, err
})

func typed(t *testing.T) []*packages.Package {
	t.Helper()
	all, err := load()
	require.NoError(t, err)
	return all
}

// exported returns the exported objects of a root: functions, types, constants and variables, and
// the methods of types, by the names that a user writes.
func exported(p *types.Package) map[string]types.Object {
	names := map[string]types.Object{}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		names[name] = object
		named, ok := types.Unalias(object.Type()).(*types.Named)
		if _, isType := object.(*types.TypeName); !isType || !ok {
			continue
		}
		for method := range named.Methods() {
			if method.Exported() {
				names[name+"."+method.Name()] = method
			}
		}
	}
	return names
}

// key identifies an object in whichever variant of its package it was type-checked.
func key(o types.Object) string {
	if o == nil || o.Pkg() == nil {
		return ""
	}
	if f, ok := o.(*types.Func); ok {
		return f.Origin().FullName()
	}
	return o.Pkg().Path() + "." + o.Name()
}

// users returns the keys of the objects of the roots that users reach: named by what programs
// compile outside the root itself, by an Example, or by a README.
func users(t *testing.T) map[string]bool {
	t.Helper()
	programs := map[string]bool{} // import paths that programs compile
	ours, _ := list(t)
	for _, p := range ours {
		if p.Name == "main" && top(p.ImportPath) == "examples" {
			programs[p.ImportPath] = true
			for _, dep := range p.Deps {
				programs[dep] = true
			}
		}
	}
	used := map[string]bool{}
	for _, p := range typed(t) {
		home := strings.TrimSuffix(p.PkgPath, "_test")
		program := programs[p.PkgPath]
		for _, file := range p.Syntax {
			name := p.Fset.Position(file.Pos()).Filename
			test := strings.HasSuffix(name, "_test.go")
			example := test && strings.Contains(filepath.Base(name), "example")
			if !example && (test || !program) {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				object := p.TypesInfo.Uses[id]
				if object != nil && object.Pkg() != nil && (example || object.Pkg().Path() != home) {
					used[key(object)] = true
				}
				return true
			})
		}
	}
	readmes, err := filepath.Glob("../../examples/*/README.md")
	require.NoError(t, err)
	for _, path := range append(readmes, "../../README.md") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)`).FindAllStringSubmatch(string(text), -1) {
			used[module+m[1]+"."+m[2]] = true
		}
	}
	return used
}

// spread marks what comes along with what is used: the types in its signature and its fields.
func spread(root *types.Package, used map[string]bool) {
	seen := map[types.Type]bool{}
	var mark func(t types.Type)
	mark = func(t types.Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Alias:
			used[key(t.Obj())] = true
			mark(types.Unalias(t))
		case *types.Named:
			used[key(t.Obj())] = true
			for arg := range t.TypeArgs().Types() {
				mark(arg)
			}
			if t.Obj().Pkg() == root {
				mark(t.Underlying())
			}
		case *types.Pointer:
			mark(t.Elem())
		case *types.Slice:
			mark(t.Elem())
		case *types.Array:
			mark(t.Elem())
		case *types.Chan:
			mark(t.Elem())
		case *types.Map:
			mark(t.Key())
			mark(t.Elem())
		case *types.Struct:
			for field := range t.Fields() {
				if field.Exported() {
					mark(field.Type())
				}
			}
		case *types.Interface:
			for method := range t.Methods() {
				mark(method.Type())
			}
		case *types.Signature:
			for v := range t.Params().Variables() {
				mark(v.Type())
			}
			for v := range t.Results().Variables() {
				mark(v.Type())
			}
		}
	}
	for _, object := range exported(root) {
		if used[key(object)] {
			mark(object.Type())
		}
	}
}

// What neither a program nor an Example nor a README reaches has no place in a root.
func TestRootsExportWhatIsUsed(t *testing.T) {
	t.Parallel()
	used := users(t)
	interfaces := map[string]bool{} // methods of the module's own interfaces
	for _, p := range typed(t) {
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				if i, ok := n.(*ast.InterfaceType); ok {
					for _, method := range i.Methods.List {
						for _, name := range method.Names {
							interfaces[name.Name] = true
						}
					}
				}
				return true
			})
		}
	}
	for _, p := range typed(t) {
		if _, root := roots[strings.TrimPrefix(p.PkgPath, module)]; !root || p.ID != p.PkgPath {
			continue
		}
		spread(p.Types, used)
		for name, object := range exported(p.Types) {
			method := strings.Contains(name, ".")
			switch {
			case used[key(object)]:
			case method && (slices.Contains(conventional, object.Name()) || interfaces[object.Name()]):
			case enumerated(object) && used[key(object.Type().(*types.Named).Obj())]:
			default:
				t.Errorf("no program, Example or README uses %s.%s", p.Name, name)
			}
		}
	}
}

// A type is declared where its users see it: `go doc` shows no fields of an alias.
func TestPublicPackagesHaveNoAliases(t *testing.T) {
	t.Parallel()
	for _, p := range typed(t) {
		if _, root := roots[top(p.PkgPath)]; !root || p.ID != p.PkgPath || strings.Contains(p.PkgPath, "/internal/") {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			object, ok := p.Types.Scope().Lookup(name).(*types.TypeName)
			if !ok || !object.Exported() || !object.IsAlias() {
				continue
			}
			if named, ok := types.Unalias(object.Type()).(*types.Named); ok && named.Obj().Pkg() != p.Types {
				t.Errorf("%s: %s.%s is an alias of %s", p.Fset.Position(object.Pos()), p.Name, name, named)
			}
		}
	}
}

// enumerated reports whether object is one of the values of a named type of its package.
func enumerated(object types.Object) bool {
	c, ok := object.(*types.Const)
	if !ok || c.Val().Kind() == constant.Unknown {
		return false
	}
	named, ok := c.Type().(*types.Named)
	return ok && named.Obj().Pkg() == object.Pkg()
}

// Callers of a root need not be web servers: handlers and their kind are exported by the packages
// whose names end in http. A client's transport may be configured.
func TestRootsExportNoHTTP(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{"Client": true, "RoundTripper": true}
	for _, p := range typed(t) {
		if _, root := roots[strings.TrimPrefix(p.PkgPath, module)]; !root || p.ID != p.PkgPath {
			continue
		}
		for _, file := range p.Syntax {
			for _, name := range exportedSelectors(file) {
				object, ok := p.TypesInfo.Uses[name].(*types.TypeName)
				if ok && object.Pkg() != nil && object.Pkg().Path() == "net/http" && !allowed[object.Name()] {
					t.Errorf("%s: a root exports http.%s", p.Fset.Position(name.Pos()), object.Name())
				}
			}
		}
	}
}

// exportedSelectors returns the selected names in the signatures of exported functions and in the
// exported fields of exported types.
func exportedSelectors(file *ast.File) (names []*ast.Ident) {
	gather := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && len(field.Names) > 0 && !field.Names[0].IsExported() {
				if _, function := field.Type.(*ast.FuncType); !function {
					return false
				}
			}
			if s, ok := n.(*ast.SelectorExpr); ok {
				names = append(names, s.Sel)
			}
			return true
		})
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				for _, list := range []*ast.FieldList{d.Type.Params, d.Type.Results} {
					if list != nil {
						for _, field := range list.List {
							gather(field.Type)
						}
					}
				}
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && d.Tok == token.TYPE && s.Name.IsExported() {
					gather(s.Type)
				}
			}
		}
	}
	return names
}
