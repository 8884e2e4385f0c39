package goroot

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/engine"
)

// maxHookLines is how long a hook may be: it only calls into added files.
const maxHookLines = 3

// Where tells on which side of its anchor a hook goes.
type Where int

const (
	Before Where = iota // in front of the anchored node
	After               // behind its end; for a case clause, at the end of its body
	Inside              // first in the block that the anchored statement opens
)

// A Hook inserts a few lines into one declaration of a file of GOROOT. The
// place is found by structure, so that it survives changes elsewhere; it must
// match exactly once.
type Hook struct {
	File string // relative to GOROOT/src

	// Decl names the declaration: "func gopanic", "func (p *_panic) start",
	// "type g", "var x", "const y", or "import" for the file's imports. "func malloc*" stands for all functions of the
	// file whose names begin so, one at least: the anchor must match exactly once in each.
	Decl string

	// Anchor is the first line of a statement, case clause, struct field or
	// import spec inside Decl, as in the source but for white space and
	// comments. If it is empty, the anchor is the declaration itself; with
	// Decl "import", Lines are then import paths in quotes.
	Anchor string

	Where Where
	Lines []string // at most three, without comments
	Why   string   // one sentence: what would go wrong without the hook

	Part Part // a program without this part does without the hook
}

// A Part is something that programs are built with, or without, as their engine
// says. A hook that does nothing is not free: where goroutines are scheduled, a
// load and a branch can be measured.
type Part = engine.Part

const (
	Contexts = engine.Contexts
	Sampling = engine.Sampling

	Always Part = 0 // of a hook that all programs need
)

// Parts are the combinations of parts that programs are built with.
var Parts = []Part{Contexts, Sampling, Contexts | Sampling}

// name is how messages call the hook.
func (k *Hook) name() string {
	_, name, ok := strings.Cut(k.Decl, " ")
	if !ok {
		return k.Decl
	}
	return name
}

// An edit inserts text at an offset of the original source.
type edit struct {
	offset int
	text   string
}

// applyHooks returns src, the contents of file, with the hooks inserted. Lines
// are joined to the lines that are there, so that every position that the Go
// project's stack traces show stays true.
func applyHooks(file string, src []byte, hooks []Hook) ([]byte, error) {
	p, err := parseSource(file, src)
	if err != nil {
		return nil, err
	}
	var edits []edit
	for i := range hooks {
		list, err := p.edits(&hooks[i])
		if err != nil {
			return nil, fmt.Errorf("hook %s: %w", hooks[i].name(), err)
		}
		edits = append(edits, list...)
	}
	out := insert(src, edits)
	if _, err := parseSource(file, out); err != nil {
		return nil, fmt.Errorf("with hooks: %w", err)
	}
	if have, want := bytes.Count(out, []byte("\n")), bytes.Count(src, []byte("\n")); have != want {
		return nil, fmt.Errorf("%s: hooks change the number of lines (have %d, want %d)", file, have, want)
	}
	return out, nil
}

// insert applies edits; those at the same offset keep their order.
func insert(src []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.offset - b.offset })
	var out bytes.Buffer
	last := 0
	for _, e := range edits {
		out.Write(src[last:e.offset])
		out.WriteString(e.text)
		last = e.offset
	}
	out.Write(src[last:])
	return out.Bytes()
}

// source is a parsed file of GOROOT.
type source struct {
	name string
	text []byte
	tok  *token.File
	ast  *ast.File
}

func parseSource(name string, src []byte) (*source, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{name, src, fset.File(f.Pos()), f}, nil
}

// edits finds the place of one hook, or those in all functions that it is for.
func (p *source) edits(k *Hook) ([]edit, error) {
	text, err := joinLines(k.Lines)
	if err != nil {
		return nil, err
	}
	if k.Decl == "import" && k.Anchor == "" {
		return []edit{p.addImports(k)}, nil
	}
	decls, all := p.decls(k.Decl), strings.HasSuffix(k.Decl, "*")
	if k.Decl != "import" && len(decls) != 1 && (!all || len(decls) == 0) {
		return nil, fmt.Errorf("%s matched %d times in %s, want 1", k.Decl, len(decls), p.name)
	}
	if !all {
		e, err := p.edit(k, text, decls)
		return []edit{e}, err
	}
	var edits []edit
	for _, d := range decls {
		e, err := p.edit(k, text, []ast.Node{d})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.(*ast.FuncDecl).Name.Name, err)
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// edit finds the one place of a hook in declarations.
func (p *source) edit(k *Hook, text string, decls []ast.Node) (edit, error) {
	nodes := decls
	if k.Anchor != "" {
		nodes = nil
		for _, d := range decls {
			nodes = append(nodes, p.anchors(d, k.Anchor)...)
		}
	}
	if len(nodes) != 1 {
		return edit{}, fmt.Errorf("anchor %q matched %d times in %s, want 1", k.Anchor, len(nodes), p.name)
	}
	return p.place(nodes[0], k.Where, text)
}

// addImports puts import declarations on the line of the package clause.
func (p *source) addImports(k *Hook) edit {
	text := ""
	for _, path := range k.Lines {
		text += "; import " + path
	}
	return edit{p.tok.Offset(p.ast.Name.End()), text}
}

// place computes the insertion for an anchored node.
func (p *source) place(n ast.Node, w Where, text string) (edit, error) {
	switch w {
	case Before:
		return edit{p.tok.Offset(n.Pos()), text + "; "}, nil
	case After:
		return edit{p.tok.Offset(n.End()), "; " + text}, nil
	case Inside:
		if open := blockStart(n); open.IsValid() {
			return edit{p.tok.Offset(open) + 1, " " + text + ";"}, nil
		}
		return edit{}, fmt.Errorf("the anchor in %s opens no block", p.name)
	}
	return edit{}, fmt.Errorf("unknown place %d", w)
}

// blockStart returns the position of the brace or colon that opens the block
// of a statement. Of an expression with a function literal it is the literal's.
func blockStart(n ast.Node) token.Pos {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.Lbrace
	case *ast.IfStmt:
		return n.Body.Lbrace
	case *ast.ForStmt:
		return n.Body.Lbrace
	case *ast.RangeStmt:
		return n.Body.Lbrace
	case *ast.CaseClause:
		return n.Colon
	case *ast.CommClause:
		return n.Colon
	case *ast.LabeledStmt:
		return blockStart(n.Stmt)
	case *ast.FuncDecl:
		if n.Body == nil {
			return token.NoPos
		}
		return n.Body.Lbrace
	case *ast.TypeSpec:
		if s, ok := n.Type.(*ast.StructType); ok {
			return s.Fields.Opening
		}
		return token.NoPos
	}
	return literalStart(n)
}

// literalStart returns where the body of the first function literal in n starts.
func literalStart(n ast.Node) token.Pos {
	start := token.NoPos
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && !start.IsValid() {
			start = lit.Body.Lbrace
		}
		return !start.IsValid()
	})
	return start
}

// decls returns the declarations with the given name: functions, or specs of
// types, variables and constants. "import" gives all import declarations, and a
// name that ends with * all functions that begin with it.
func (p *source) decls(name string) []ast.Node {
	var list []ast.Node
	first, all := strings.CutSuffix(name, "*")
	for _, d := range p.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if have := p.funcName(d); have == name || all && strings.HasPrefix(have, first) {
				list = append(list, d)
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT && name == "import" {
				list = append(list, d)
			}
			for _, s := range d.Specs {
				if slices.Contains(specNames(d.Tok, s), name) {
					list = append(list, s)
				}
			}
		}
	}
	return list
}

// funcName returns a function's name as Hook.Decl spells it.
func (p *source) funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return "func " + d.Name.Name
	}
	recv := p.text[p.tok.Offset(d.Recv.Pos()):p.tok.Offset(d.Recv.End())]
	return "func " + normalise(string(recv)) + " " + d.Name.Name
}

// specNames returns what a spec declares, as Hook.Decl spells it.
func specNames(tok token.Token, s ast.Spec) []string {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return []string{"type " + s.Name.Name}
	case *ast.ValueSpec:
		var names []string
		for _, id := range s.Names {
			names = append(names, tok.String()+" "+id.Name)
		}
		return names
	}
	return nil
}

// anchors returns the nodes in decl that begin with the line want. Only nodes
// beside which something may be inserted are looked at: members of statement
// lists, fields of structs and interfaces, import specs.
func (p *source) anchors(decl ast.Node, want string) []ast.Node {
	var list []ast.Node
	check := func(n ast.Node) {
		if p.firstLine(n) == normalise(want) {
			list = append(list, n)
		}
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			checkAll(n.List, check)
		case *ast.CaseClause:
			checkAll(n.Body, check)
		case *ast.CommClause:
			checkAll(n.Body, check)
		case *ast.LabeledStmt:
			check(n.Stmt)
		case *ast.StructType:
			checkAll(n.Fields.List, check)
		case *ast.InterfaceType:
			checkAll(n.Methods.List, check)
		case *ast.ImportSpec:
			check(n)
		}
		return true
	})
	return list
}

func checkAll[N ast.Node](list []N, check func(ast.Node)) {
	for _, n := range list {
		check(n)
	}
}

// firstLine returns the source of n up to the end of its first line, normalised.
func (p *source) firstLine(n ast.Node) string {
	start, end := p.tok.Offset(n.Pos()), p.tok.Offset(n.End())
	text := p.text[start:end]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	for _, g := range p.ast.Comments {
		for _, c := range g.List {
			if at := p.tok.Offset(c.Pos()) - start; at >= 0 && at < len(text) {
				text = text[:at]
			}
		}
	}
	return normalise(string(text))
}

// normalise makes all white space single spaces.
func normalise(s string) string { return strings.Join(strings.Fields(s), " ") }

// joinLines makes one line of a few, with semicolons where the line ends had them.
func joinLines(lines []string) (string, error) {
	if len(lines) == 0 || len(lines) > maxHookLines {
		return "", fmt.Errorf("bad number of lines (have %d, want 1 to %d)", len(lines), maxHookLines)
	}
	var b strings.Builder
	for i, line := range lines {
		semicolon, err := needsSemicolon(line)
		if err != nil {
			return "", err
		}
		b.WriteString(strings.TrimSpace(line))
		if i < len(lines)-1 && semicolon {
			b.WriteString("; ")
		} else if i < len(lines)-1 {
			b.WriteString(" ")
		}
	}
	return b.String(), nil
}

// needsSemicolon reports whether the end of a line of Go ends a statement.
func needsSemicolon(line string) (bool, error) {
	fset := token.NewFileSet()
	src := []byte(line + "\n")
	var s scanner.Scanner
	var errs scanner.ErrorList
	s.Init(fset.AddFile("", -1, len(src)), src, errs.Add, scanner.ScanComments)
	semicolon := false
	for {
		_, tok, lit := s.Scan()
		if tok == token.COMMENT || strings.Contains(line, "\n") {
			return false, fmt.Errorf("line %q holds a comment or line end", line)
		}
		if tok == token.EOF {
			return semicolon, errs.Err()
		}
		semicolon = tok == token.SEMICOLON && lit == "\n"
	}
}
