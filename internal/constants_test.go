package internal_test

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// fieldConstants finds in the comment of a field whose constants it has, and whether they are bits.
var fieldConstants = regexp.MustCompile(`layout\.([A-Za-z]+) (constant|bits)`)

// twoMeanings are constants that share a number with one beside them, each with what tells them apart.
var twoMeanings = map[string]string{
	"RecPCs": "layout.IsPCs, by the flags of the header",
}

// A constantBlock is one declaration of constants.
type constantBlock struct {
	file  string
	names []string
}

// Each field of a record that has values by name has one block of constants for them, which lies in the file of a
// record with such a field. No two of them have the same number; bits do not overlap.
func TestConstantsOfFields(t *testing.T) {
	fset, files, pkg := layoutPackage(t)
	homes := map[string][]string{} // files with such fields, by the beginning of the names
	bits := map[string]bool{}
	var blocks []constantBlock
	for _, f := range files {
		name := filepath.Base(fset.Position(f.Pos()).Filename)
		if name != "sizes.go" {
			blocks = append(blocks, constantBlocks(f, name)...)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				for _, m := range fieldConstants.FindAllStringSubmatch(field.Comment.Text()+field.Doc.Text(), -1) {
					homes[m[1]] = append(homes[m[1]], name)
					bits[m[1]] = m[2] == "bits"
				}
			}
			return true
		})
	}
	for _, prefix := range slices.Sorted(maps.Keys(homes)) {
		checkBlock(t, pkg, blocks, prefix, homes[prefix], bits[prefix])
	}
	if len(homes) < 15 {
		t.Errorf("%d fields have constants, want all", len(homes))
	}
}

// constantBlocks returns the declarations of constants in a file.
func constantBlocks(f *ast.File, file string) (list []constantBlock) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		b := constantBlock{file: file}
		for _, s := range g.Specs {
			for _, id := range s.(*ast.ValueSpec).Names {
				b.names = append(b.names, id.Name)
			}
		}
		list = append(list, b)
	}
	return list
}

// checkBlock checks the constants of one field.
func checkBlock(t *testing.T, pkg *types.Package, blocks []constantBlock, prefix string, homes []string, bits bool) {
	t.Helper()
	ofField := func(name string) bool {
		rest, ok := strings.CutPrefix(name, prefix)
		return ok && rest != "" && !strings.Contains(rest[:1], strings.ToLower(rest[:1]))
	}
	found := 0
	for _, b := range blocks {
		if !slices.ContainsFunc(b.names, ofField) {
			continue
		}
		if found++; !slices.Contains(homes, b.file) {
			t.Errorf("%s: constants %s are those of fields in %v", b.file, prefix, homes)
		}
		values := map[uint64]string{}
		var all uint64
		for _, name := range b.names {
			if !ofField(name) {
				continue
			}
			v, _ := constant.Uint64Val(pkg.Scope().Lookup(name).(*types.Const).Val())
			if twin, ok := values[v]; ok && twoMeanings[name] == "" {
				t.Errorf("%s and %s are both %d", twin, name, v)
			}
			if bits && all&v != 0 {
				t.Errorf("%s: %#x has a bit of another flag", name, v)
			}
			values[v], all = name, all|v
		}
	}
	if found != 1 {
		t.Errorf("constants %s are in %d blocks, want one", prefix, found)
	}
}

// Each kind of events has a name and stands once in the table that the runtime, flags and readers take names from. No
// other file lists them.
func TestEventKinds(t *testing.T) {
	_, _, pkg := layoutPackage(t)
	kind := regexp.MustCompile(`^Event[A-Z][a-z]+$`)
	kinds := 0
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok && kind.MatchString(name) && name != "EventSize" {
			n, _ := constant.Int64Val(c.Val())
			if kinds++; n >= int64(len(layout.EventKinds)) || layout.EventKinds[n].Name == "" {
				t.Errorf("layout.%s has no name in EventKinds", name)
			}
		}
	}
	names := engine.EventKinds()
	if kinds == 0 || len(names) != kinds {
		t.Errorf("%d names for %d kinds of events: %v", len(names), kinds, names)
	}
	eachSource(t, func(file string, src []byte) {
		if strings.HasSuffix(file, "_test.go") || file == "internal/goroot/layout/events.go" {
			return
		}
		listed := 0
		for _, name := range names {
			if bytes.Contains(src, strconv.AppendQuote(nil, name)) {
				listed++
			}
		}
		if listed == len(names) {
			t.Errorf("%s names all kinds of events; take them from layout.EventKinds", file)
		}
	})
}
