package internal_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of records into profile/FORMAT.md")

// inMemory are the records that are in no file.
var inMemory = []string{
	"G", "StackWords", "PairWords", "CountdownWords", "Pair", "FuncData", "Meta", "MetaString", "StackEntry",
	"PCEntry", "SeenEdge", "Step", "EdgeTable", "EventKind",
}

const (
	tablesBegin = "<!-- These tables are written by: go test ./internal -run TestFormatTables -update -->\n"
	tablesEnd   = "<!-- End of the tables. -->\n"
)

// FORMAT.md has a table of each record that is in a file, as package layout has it.
func TestFormatTables(t *testing.T) {
	const file = "../profile/FORMAT.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), tablesBegin)
	have, after, ended := strings.Cut(rest, tablesEnd)
	if !ok || !ended {
		t.Fatalf("%s has no place for the tables", file)
	}
	want := recordTables(t)
	if *update {
		if err := os.WriteFile(file, []byte(before+tablesBegin+want+tablesEnd+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Errorf("%s: the tables are not those of package layout; run go test ./internal -run "+
			"TestFormatTables -update", file)
	}
}

// recordTables returns the tables of all records.
func recordTables(t *testing.T) string {
	t.Helper()
	_, files, pkg := layoutPackage(t)
	var b strings.Builder
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			spec := g.Specs[0].(*ast.TypeSpec)
			s, ok := spec.Type.(*ast.StructType)
			if ok && !slices.Contains(inMemory, spec.Name.Name) {
				writeTable(&b, g.Doc.Text(), s, pkg.Scope().Lookup(spec.Name.Name).Type())
			}
		}
	}
	return b.String()
}

// layoutSizes are the sizes of types in records.
var layoutSizes = types.SizesFor("gc", "amd64")

// layoutPackage returns the files of package layout, and their types.
func layoutPackage(t *testing.T) (fset *token.FileSet, files []*ast.File, pkg *types.Package) {
	t.Helper()
	fset = token.NewFileSet()
	names, err := filepath.Glob("goroot/layout/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files of package layout: %v", err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importer.Default(), Sizes: layoutSizes}
	if pkg, err = conf.Check("layout", fset, files, nil); err != nil {
		t.Fatal(err)
	}
	return fset, files, pkg
}

// writeTable writes the table of one record.
func writeTable(b *strings.Builder, doc string, s *ast.StructType, typ types.Type) {
	fmt.Fprintf(b, "\n### %s, %s\n\n", typ.(*types.Named).Obj().Name(), bytesOf(layoutSizes.Sizeof(typ)))
	var printer comment.Printer
	b.Write(printer.Markdown(new(comment.Parser).Parse(doc)))
	b.WriteString("\n| offset | field | type | meaning |\n| --- | --- | --- | --- |\n")
	u := typ.Underlying().(*types.Struct)
	var vars []*types.Var
	for i := range u.NumFields() {
		vars = append(vars, u.Field(i))
	}
	offsets := layoutSizes.Offsetsof(vars)
	i := 0
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			v := vars[i]
			fmt.Fprintf(b, "| %d | %s | [%s](#%s) | %s |\n", offsets[i], v.Name(), v.Name(),
				anchor(v.Name(), layoutSizes.Sizeof(v.Type())), strings.TrimSpace(f.Comment.Text()))
			i++
		}
		for range f.Names {
			if v := vars[i]; v.Name() != "_" {
				name := types.TypeString(v.Type(), func(*types.Package) string { return "" })
				fmt.Fprintf(b, "| %d | %s | %s | %s |\n", offsets[i], v.Name(), name,
					strings.TrimSpace(f.Comment.Text()))
			}
			i++
		}
	}
}

// anchor is where FORMAT.md has the table of a record.
func anchor(name string, size int64) string {
	return strings.ToLower(name) + "-" + strings.ReplaceAll(bytesOf(size), " ", "-")
}

func bytesOf(n int64) string { return fmt.Sprint(n, " bytes") }
