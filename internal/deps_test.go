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
	examples/index: ;
	internal/goroot/layout: ;
	internal/goroot/rt/fold: ;
	internal/goroot/rt/memory: ;
	internal/fingerprint: ;
	internal/nodetable: ;
	internal/onoff: ;
	internal/packages: ;
	internal/record/raw: ;
	internal/sealed: ;
	internal/terminal: ;
	internal/testing/browser: ;
	internal/testing/level: ;
	internal/testing/loggertest: ;
	internal/testing/pty: ;
	internal/topo: ;
	internal/ctxid: internal/goroot/layout;
	internal/engine: internal/goroot/layout;
	internal/homes: internal/goroot/rt/fold;
	internal/module: internal/goroot/layout;
	internal/goroot: internal/engine;
	internal/goroot/rt/memory/memorytest: internal/goroot/rt/memory;
	internal/progress: internal/terminal;
	internal/encoder: internal/goroot/layout, internal/topo;
	internal/goroot/rt/events: internal/goroot/layout, internal/goroot/rt/memory;
	internal/goroot/rt/recorder: internal/goroot/layout, internal/goroot/rt/memory;
	internal/goroot/rt/segment: internal/goroot/layout, internal/goroot/rt/memory;
	internal/goroot/rt/segment/segmenttest: internal/goroot/rt/segment;
	internal/goroot/rt/sample: internal/goroot/rt/fold, internal/goroot/rt/segment;
	internal/safefile: internal/progress;
	internal/goroot/rt/ids: internal/goroot/rt/recorder;
	internal/goroot/rt/tree: internal/goroot/rt/recorder, internal/goroot/rt/sample;
	internal/testing/foldtest: internal/goroot/rt/fold;
	internal/record/pinned: internal/goroot/layout, internal/record/raw;
	profile: internal/goroot/layout, internal/homes, internal/nodetable, internal/sealed;
	internal/goroot/rt/checker: internal/goroot/rt/tree;
	internal/humanize: profile;
	internal/cct: internal/engine, internal/fingerprint, profile;
	internal/chance: internal/cct;
	internal/export: internal/cct;
	internal/similarity: internal/cct;
	internal/base: internal/humanize, internal/safefile;
	internal/record/livedir: internal/ctxid, internal/engine, internal/record/raw, profile;
	internal/testing/recordtest: internal/ctxid, internal/goroot/rt/events, internal/goroot/rt/ids,
		internal/goroot/rt/memory/memorytest, internal/record/raw;
	internal/diff: internal/chance, internal/similarity;
	internal/record/ids: internal/record/livedir;
	internal/record: internal/record/ids;
	internal/testing/e2e/settings: internal/record;
	internal/decode: internal/cct, internal/record;
	.: internal/decode, internal/onoff, internal/record/pinned;
	internal/callgraph: internal/packages, internal/record, internal/topo;
	stemmapprof: .;
	stemmaerrors: .;
	stemmaotel: .;
	stemmalogrus: .;
	stemmazap: .;
	stemmazerolog: .;
	stemmahttp: ., internal/export;
	internal/record/store: internal/base, internal/record, internal/record/pinned;
	internal/page: internal/decode, internal/diff, internal/humanize;
	stemmatest: ., internal/diff;
	internal/command/outside: internal/base;
	internal/command/affected: internal/cct, internal/record/store;
	internal/command/replay: internal/base, internal/cct, internal/encoder, internal/record;
	internal/command/decode: internal/command/outside, internal/decode, internal/record/store;
	internal/costmodel: internal/record/livedir;
	internal/command/report: internal/cct, internal/command/outside, internal/costmodel, internal/record/store;
	internal/command/events: internal/command/decode;
	internal/command/seal: internal/command/report;
	internal/toolchain: internal/base, internal/callgraph, internal/goroot, internal/module;
	internal/command/export: internal/command/report, internal/export;
	internal/command/similarity: internal/command/report, internal/similarity;
	internal/command/top: internal/command/report, internal/decode;
	internal/command/clean: internal/record/store, internal/toolchain;
	internal/command/doctor: internal/record/store, internal/toolchain;
	internal/testing/e2e: internal/cct, internal/testing/level, internal/testing/pty, internal/toolchain;
	internal/command/diff: internal/command/seal, internal/diff;
	internal/command/run: internal/command/clean, internal/command/report;
	internal/command/verify: internal/command/run, internal/decode;
	internal/command/env: internal/command/run;
	internal/command/goroot: internal/command/run;
	internal/command/view: internal/command/decode, internal/command/diff, internal/page;
	internal/command: internal/command/affected, internal/command/doctor, internal/command/env, internal/command/events, internal/command/export, internal/command/goroot, internal/command/replay, internal/command/similarity, internal/command/top, internal/command/verify, internal/command/view;
	cmd/stemma: internal/command;
`

// pure lists packages that know nothing of files, networks and processes.
var pure = []string{
	"internal/sealed", "internal/engine", "internal/topo", "internal/nodetable", "internal/homes", "profile",
	"internal/record/raw", "internal/record/livedir", "internal/record/ids", "internal/record", "internal/callgraph",
	"internal/encoder",
	"internal/cct", "internal/ctxid", "internal/fingerprint",
	"internal/decode", "internal/similarity", "internal/chance", "internal/diff",
}

// impure lists what they must not import.
var impure = []string{"os", "net", "os/exec", "syscall"}

// forTests reports whether a package is one that no code but tests may import.
func forTests(pkg string) bool {
	return strings.HasPrefix(pkg, "internal/testing/") || pkg == "internal/goroot/rt/memory/memorytest"
}

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
			case inModule && forTests(own) && !forTests(pkg):
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
	return pkg == "internal/goroot/layout" || path.Dir(pkg) == "internal/goroot/rt"
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
					name == "bench" || name == "stemma-fleet") { // modules of their own
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
