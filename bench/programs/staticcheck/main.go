// Staticcheck type-checks packages of the standard library and all that they
// import from source and runs the analyzers of staticcheck and vet on them:
// a large code base, deep recursion over syntax and types, closures, and
// goroutines.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"go/build"
	"hash"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/shadow"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"golang.org/x/tools/go/packages"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/quickfix"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

func main() {
	n := flag.Int("n", 1, "repetitions")
	paths := flag.String("packages", "bufio,sort,strconv,strings", "packages of the standard library to analyze")
	goroot := flag.String("goroot", build.Default.GOROOT, "where the standard library is")
	flag.Parse()
	sum := sha256.New()
	for range *n {
		if err := check(sum, *goroot, strings.Split(*paths, ",")); err != nil {
			fmt.Fprintln(os.Stderr, "staticcheck:", err)
			os.Exit(1)
		}
	}
	fmt.Printf("checksum staticcheck %x %s\n", sum.Sum(nil)[:12], runtime.Version())
}

func analyzers() []*analysis.Analyzer {
	all := []*analysis.Analyzer{
		bools.Analyzer, httpresponse.Analyzer, loopclosure.Analyzer, nilness.Analyzer,
		printf.Analyzer, shadow.Analyzer, unmarshal.Analyzer, unusedwrite.Analyzer,
	}
	for _, group := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers, quickfix.Analyzers} {
		for _, a := range group {
			all = append(all, a.Analyzer)
		}
	}
	return all
}

// check adds all findings in the packages to sum.
func check(sum hash.Hash, goroot string, paths []string) error {
	l := newLoader(goroot)
	var roots []*packages.Package
	for _, path := range paths {
		p, err := l.load(path, filepath.Join(goroot, "src"))
		if err != nil {
			return err
		}
		roots = append(roots, p)
	}
	graph, err := checker.Analyze(analyzers(), roots, nil)
	if err != nil {
		return err
	}
	var findings []string
	for act := range graph.All() {
		if act.Err != nil {
			return fmt.Errorf("%s: %w", act, act.Err)
		}
		if !act.IsRoot {
			continue
		}
		for _, d := range act.Diagnostics {
			at := l.fset.Position(d.Pos)
			findings = append(findings, fmt.Sprintf("%s:%d:%d %s: %s\n", filepath.Base(at.Filename), at.Line, at.Column, act.Analyzer.Name, d.Message))
		}
	}
	slices.Sort(findings)
	fmt.Fprintln(os.Stderr, len(l.loaded), "packages,", len(findings), "findings")
	_, err = sum.Write([]byte(strings.Join(findings, "")))
	return err
}
