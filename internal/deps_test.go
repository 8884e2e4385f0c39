// Package internal_test holds the module to its import rule.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/stemma-go/stemma"

// rule is the import graph of the module: for each package the packages that it imports, but for
// those that another one on its right imports, or brings with it (the graph's transitive reduction).
// The test fails unless it is exactly that, so that a new dependency of one part on another is a
// line of a change, and one that has gone does not stay allowed.
const rule = `
	internal/goroot/layout: ;
	internal/raw: ;
	internal/goroot/rt: internal/goroot/layout;
	internal/goroot/rt/memory: ;
	internal/goroot/rt/memory/memorytest: internal/goroot/rt/memory;
	internal/goroot/rt/recorder: internal/goroot/rt, internal/goroot/rt/memory;
	internal/goroot/rt/tree: internal/goroot/rt/recorder;
	internal/goroot/rt/checker: internal/goroot/rt/tree;
	internal/goroot/rt/contexts: internal/goroot/rt/recorder;
	internal/goroot/rt/events: internal/goroot/layout, internal/goroot/rt/memory;
	internal/goroot/rt/sample: internal/goroot/rt, internal/goroot/rt/memory;
	internal/wire: ;
	internal/sealed: internal/wire;
	internal/ctxid: internal/goroot/rt;
	internal/engine: internal/goroot/rt;
	internal/tables: internal/sealed;
	profile: internal/goroot/rt, internal/tables;
	internal/funcblob: profile;
	internal/live: internal/funcblob, internal/ctxid, internal/engine, internal/raw;
	internal/ids: internal/live;
	internal/record: internal/ids;
	internal/acyclic: ;
	internal/packages: ;
	internal/callgraph: internal/record, internal/acyclic, internal/packages;
	internal/cce: internal/goroot/rt, internal/acyclic;
	internal/cct: profile, internal/engine;
	internal/decode: internal/cct, internal/record;
	internal/classes: internal/cct;
	internal/similarity: internal/cct;
	internal/chance: internal/cct;
	internal/diff: internal/similarity, internal/chance, internal/classes;
	internal/export: internal/cct;
	internal/replay: internal/cct, internal/cce, internal/record;
	internal/goroot: ;
	internal/terminal: ;
	internal/progress: internal/terminal;
	internal/safefile: internal/progress;
	internal/toolchain: internal/goroot, internal/callgraph, internal/safefile;
	internal/exit: ;
	internal/words: profile;
	internal/manual: ;
	internal/flags: internal/exit, internal/manual, internal/words;
	internal/process: internal/toolchain;
	internal/store: internal/record, internal/words, internal/exit, internal/safefile;
	internal/cost: internal/goroot/layout;
	internal/report: internal/store, internal/classes, internal/cost;
	internal/lookup: internal/store, internal/decode;
	internal/overlap: internal/report, internal/similarity;
	internal/calls: internal/replay;
	internal/events: internal/lookup;
	internal/gate: internal/report, internal/diff;
	internal/view: internal/diff, internal/decode, internal/words;
	internal/display: internal/gate, internal/lookup, internal/view;
	internal/top: internal/store, internal/decode;
	internal/verify: internal/report, internal/decode;
	internal/clean: internal/store, internal/toolchain;
	internal/doctor: internal/store, internal/toolchain;
	internal/launch: internal/clean, internal/report, internal/process;
	internal/reach: internal/store, internal/cct;
	internal/cli: internal/calls, internal/display, internal/doctor, internal/events, internal/export, internal/flags, internal/launch, internal/overlap, internal/reach, internal/top, internal/verify;
	cmd/stemma: internal/cli;
	.: internal/decode;
	stemmahttp: ., internal/export;
	stemmatest: ., internal/diff;
	internal/pty: ;
	internal/e2e: internal/toolchain, internal/cct, internal/pty;
	internal/e2e/settings: internal/record;
	internal/livetest: internal/ctxid, internal/goroot/rt/contexts, internal/goroot/rt/events, internal/raw;
	internal/browser: ;
`

// pure lists packages that know nothing of files, networks and processes.
var pure = []string{
	"internal/wire", "internal/sealed", "internal/tables", "internal/engine", "internal/acyclic", "profile",
	"internal/funcblob", "internal/live", "internal/ids", "internal/record", "internal/callgraph",
	"internal/cce", "internal/cct", "internal/ctxid", "internal/decode", "internal/replay",
	"internal/similarity", "internal/chance", "internal/diff",
}

// impure lists what they must not import.
var impure = []string{"os", "net", "os/exec", "syscall"}

// testOnly lists packages that no code but tests may import.
var testOnly = []string{"internal/livetest", "internal/e2e", "internal/e2e/settings", "internal/pty",
	"internal/browser", "internal/goroot/rt/memory/memorytest"}

// closure returns, for each package of the rule, all that it may import, and what the
// rule names.
func closure(t *testing.T) (may, named map[string][]string) {
	may, named = make(map[string][]string), make(map[string][]string)
	for line := range strings.SplitSeq(rule, ";") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		pkg, deps, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("rule: %q has no colon", line)
		}
		all := []string{}
		for dep := range strings.SplitSeq(deps, ",") {
			if dep = strings.TrimSpace(dep); dep == "" {
				continue
			}
			if may[dep] == nil {
				t.Fatalf("rule: %s stands before %s, which it may import", pkg, dep)
			}
			all = append(append(all, dep), may[dep]...)
			named[pkg] = append(named[pkg], dep)
		}
		may[pkg] = all
	}
	return may, named
}

func TestImportRule(t *testing.T) {
	may, named := closure(t)
	all := packages(t)
	for pkg, deps := range named {
		for _, dep := range deps {
			if full := strings.TrimSuffix(module+"/"+dep, "/."); !slices.Contains(all[pkg], full) {
				t.Errorf("rule: %s does not import %s", pkg, dep)
			}
			for _, other := range deps {
				if slices.Contains(may[other], dep) {
					t.Errorf("rule: %s: %s comes with %s; leave it out", pkg, dep, other)
				}
			}
		}
	}
	for pkg, imports := range all {
		allowed, ok := may[pkg]
		if !ok {
			t.Errorf("%s: not in the import rule", pkg)
		}
		for _, imp := range imports {
			own, inModule := strings.CutPrefix(imp, module)
			if own = strings.TrimPrefix(own, "/"); inModule && own == "" {
				own = "."
			}
			switch {
			case inModule && slices.Contains(testOnly, own) && !slices.Contains(testOnly, pkg):
				t.Errorf("%s imports %s, which is for tests only", pkg, imp)
			case inModule && !slices.Contains(allowed, own):
				t.Errorf("%s must not import %s", pkg, imp)
			case !inModule && slices.Contains(pure, pkg) && slices.Contains(impure, imp):
				t.Errorf("%s must not import %s", pkg, imp)
			case inGOROOT(pkg) && !inModule &&
				!slices.Contains([]string{"unsafe", "math/bits", "sync/atomic"}, imp):
				t.Errorf("%s must not import %s; use the seam", pkg, imp)
			}
		}
	}
}

// inGOROOT reports whether a package enters GOROOT.
func inGOROOT(pkg string) bool {
	return pkg == "internal/goroot/layout" || pkg == "internal/goroot/rt" ||
		path.Dir(pkg) == "internal/goroot/rt"
}

// packages returns the imports of each package of the module but its tests.
func packages(t *testing.T) map[string][]string {
	list := make(map[string][]string)
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if file != ".." &&
				(strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") || name == "testdata" ||
					name == "bench") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		// A command other than stemma's own is a program for tests.
		if err != nil || f.Name.Name == "main" && path.Dir(filepath.ToSlash(file)) != "../cmd/stemma" {
			return err
		}
		pkg := path.Dir(strings.TrimPrefix(filepath.ToSlash(file), "../"))
		if list[pkg] == nil {
			list[pkg] = []string{} // known even without imports
		}
		for _, imp := range f.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			list[pkg] = append(list[pkg], p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
