package callgraph

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/ssa"

	"github.com/stemma-go/stemma/internal/packages"
)

// A Source is what the source says about calls that the compiler cannot resolve.
type Source struct {
	calls    map[Place]map[Place]bool // by place of the call: where the callees begin
	deferred map[Place]map[Place]bool // by place of a function: what it defers
	loops    map[Place]int            // by place of a call: how many loops it is in

	behind map[*callgraph.Node][]Place // what behindWrappers has found

	fset   *token.FileSet
	root   Names
	names  map[string]string       // by file: its name in the program, if that differs
	starts map[token.Pos]token.Pos // by parenthesis of a call: where the call begins, if on another line
}

// Names returns what files are called in a program.
type Names struct {
	From, To string // below From is what the compiler has found below To
	Trimmed  bool   // by -trimpath
}

// Analyze finds the callees of all dynamic calls in packages, by VTA. What they import must be among them.
func Analyze(pkgs []*packages.Package, names Names) (*Source, error) {
	s := &Source{root: names, behind: make(map[*callgraph.Node][]Place), calls: make(map[Place]map[Place]bool),
		deferred: make(map[Place]map[Place]bool), loops: make(map[Place]int),
		names: make(map[string]string), starts: make(map[token.Pos]token.Pos)}
	prog := ssa.NewProgram(token.NewFileSet(), ssa.InstantiateGenerics)
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", p.Path(), p.Errors[0])
		}
		s.fset, prog.Fset = p.Fset, p.Fset
		if names.Trimmed {
			s.trim(p)
		}
		for _, f := range p.Syntax {
			s.scan(f)
		}
		prog.CreatePackage(p.Types, p.Syntax, p.Info, true)
	}
	prog.Build()
	for _, n := range vta.CallGraph(functions(prog), nil).Nodes {
		for _, e := range n.Out {
			s.add(n, e)
		}
	}
	return s, nil
}

// functions returns all functions of a program that may be called: those of packages, the methods of exported types
// and of what reflection may reach, and what is used in one of them.
func functions(prog *ssa.Program) map[*ssa.Function]bool {
	found := make(map[*ssa.Function]bool)
	var todo []*ssa.Function
	add := func(f *ssa.Function) {
		if !found[f] {
			found[f] = true
			todo = append(todo, f)
		}
	}
	methods := func(t types.Type) {
		if types.IsInterface(t) {
			return
		}
		for m := range prog.MethodSets.MethodSet(t).Methods() {
			if m.Obj().(*types.Func).Signature().TypeParams() == nil {
				add(prog.MethodValue(m))
			}
		}
	}
	for _, p := range prog.AllPackages() {
		for _, m := range p.Members {
			switch m := m.(type) {
			case *ssa.Function:
				add(m)
			case *ssa.Type:
				if t, ok := m.Type().(*types.Named); ok && m.Object().Exported() && t.TypeParams() == nil {
					methods(t)
					methods(types.NewPointer(t))
				}
			}
		}
	}
	for _, t := range prog.RuntimeTypes() {
		methods(t)
	}
	var room [10]*ssa.Value
	for len(todo) > 0 {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, b := range f.Blocks {
			for _, instr := range b.Instrs {
				for _, op := range instr.Operands(room[:0]) {
					if f, ok := (*op).(*ssa.Function); ok {
						add(f)
					}
				}
			}
		}
	}
	return found
}

// trim gives the files of a package the names that -trimpath gives them.
func (s *Source) trim(p *packages.Package) {
	for _, file := range p.GoFiles {
		name := path.Join(p.Path(), filepath.Base(file))
		if m := p.Module; m != nil {
			root := m.Path
			if m.Version != "" {
				root += "@" + m.Version
			}
			if rest, ok := strings.CutPrefix(p.Path(), m.Path); ok {
				name = path.Join(root, rest, filepath.Base(file))
			}
		}
		s.names[file] = name
	}
}

// scan notes the loops around the calls in a file, and where calls begin.
func (s *Source) scan(f *ast.File) {
	var open []ast.Node
	depth := []int{0} // of loops, for each function literal around
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			switch open[len(open)-1].(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				depth[len(depth)-1]--
			case *ast.FuncLit:
				depth = depth[:len(depth)-1]
			}
			open = open[:len(open)-1]
			return true
		}
		open = append(open, n)
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			depth[len(depth)-1]++
		case *ast.FuncLit:
			depth = append(depth, 0)
		case *ast.CallExpr:
			s.call(n, depth[len(depth)-1])
		}
		return true
	})
}

// call notes a call in a number of loops.
func (s *Source) call(n *ast.CallExpr, loops int) {
	begin, paren := s.place(n.Pos()), s.place(n.Lparen)
	if begin != paren {
		s.starts[n.Lparen] = n.Pos()
	}
	if loops > 0 {
		s.loops[begin] = max(s.loops[begin], loops)
		s.loops[paren] = max(s.loops[paren], loops)
	}
}

// place returns the line of a position, as the compiler has it.
func (s *Source) place(pos token.Pos) Place {
	p := s.fset.Position(pos)
	if name, ok := s.names[p.Filename]; ok {
		p.Filename = name
	} else if rest, ok := strings.CutPrefix(p.Filename, s.root.From+"/"); ok && s.root.From != "" {
		p.Filename = s.root.To + "/" + rest
	}
	return Place{p.Filename, p.Line}
}

// add notes a call that the compiler may not be able to resolve.
func (s *Source) add(n *callgraph.Node, e *callgraph.Edge) {
	if e.Site == nil || isStatic(n.Func, e.Site.Common()) {
		return
	}
	begin := s.place(e.Site.Common().Pos())
	callees, ok := s.behind[e.Callee]
	if !ok {
		callees = s.behindWrappers(e.Callee)
		s.behind[e.Callee] = callees
	}
	for _, callee := range callees {
		insert(s.calls, begin, callee)
		if start, ok := s.starts[e.Site.Common().Pos()]; ok {
			insert(s.calls, s.place(start), callee)
		}
		if _, ok := e.Site.(*ssa.Defer); ok && n.Func.Pos().IsValid() {
			insert(s.deferred, s.place(n.Func.Pos()), callee)
		}
	}
}

// isStatic reports whether the compiler knows the callee of a call in f: not in an
// instance of a generic function, and not if it goes through a function literal.
func isStatic(f *ssa.Function, c *ssa.CallCommon) bool {
	callee, ok := c.Value.(*ssa.Function)
	if !ok || c.IsInvoke() || callee.Parent() != nil || callee.Synthetic != "" && callee.Origin() == nil {
		return false
	}
	for ; f != nil; f = f.Parent() {
		if f.Origin() != nil {
			return false
		}
	}
	return true
}

// behindWrappers returns where the functions begin that a call of n enters: wrappers
// and bound methods vanish from contexts, so it is those that they reach.
func (s *Source) behindWrappers(n *callgraph.Node) (list []Place) {
	seen := map[*callgraph.Node]bool{n: true}
	for todo := []*callgraph.Node{n}; len(todo) > 0; {
		n, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if f := n.Func; f.Synthetic == "" || f.Syntax() != nil || f.Origin() != nil {
			if f.Pos().IsValid() {
				list = append(list, s.place(f.Pos()))
			}
			continue
		}
		for _, e := range n.Out {
			if !seen[e.Callee] {
				seen[e.Callee] = true
				todo = append(todo, e.Callee)
			}
		}
	}
	return list
}

// insert adds a place to the set of another.
func insert(m map[Place]map[Place]bool, at, callee Place) {
	if m[at] == nil {
		m[at] = make(map[Place]bool)
	}
	m[at][callee] = true
}
