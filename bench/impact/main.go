// Impact changes functions of modules at random, one at a time, runs all tests, and holds those that fail against
// the tests that stemma affected -changed lists: none that fails may be missing there.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/lab"
)

func main() {
	o := options{}
	flag.IntVar(&o.mutants, "mutants", 250, "how many changes are tried in each module")
	flag.Uint64Var(&o.seed, "seed", 1, "what the changes are drawn from")
	flag.StringVar(&o.recursion, "recursion", "fold", "how the tests are recorded")
	only := flag.String("module", "", "change these modules `A@V,B@V`; all, if it is empty")
	flag.Parse()
	list := modules
	if *only != "" {
		list = strings.Split(*only, ",")
	}
	if err := o.run(list); err != nil {
		fmt.Fprintln(os.Stderr, "impact:", err)
		os.Exit(1)
	}
}

// modules are two that are unlike each other: one of reflection, one that parses.
var modules = []string{"github.com/google/go-cmp@v0.7.0", "gopkg.in/yaml.v3@v3.0.1"}

type options struct {
	mutants   int
	seed      uint64
	recursion string
	stemma    string
}

func (o *options) run(list []string) error {
	l, err := lab.Open("impact")
	if err != nil {
		return err
	}
	defer l.Close()
	o.stemma = l.Stemma
	fmt.Println("| module | tests | mutants | with tests that fail | failures | of them not listed | " +
		"tests listed, mean |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for i, name := range list {
		m := &module{name: name, dir: filepath.Join(l.Work, fmt.Sprint(i)), o: o}
		if err := m.prepare(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := m.mutate(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// A module is a copy of one that is changed.
type module struct {
	name, dir string
	o         *options
	failing   map[string]bool // tests that fail without a change
	tests     int
	missed    []string
}

// in runs a command in the module.
func (m *module) in(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "STEMMA_OUT="+m.dir+".records")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}

// prepare copies the module, makes it a repository, and records its tests.
func (m *module) prepare() error {
	cmd := exec.Command("go", "mod", "download", "-json", m.name)
	cmd.Dir = filepath.Dir(m.dir)
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if e := json.Unmarshal(out, &info); e != nil || info.Dir == "" {
		return fmt.Errorf("go mod download: %v %s", err, info.Error)
	}
	if err := os.CopyFS(m.dir, os.DirFS(info.Dir)); err != nil {
		return err
	}
	if _, err := m.in("chmod", "-R", "u+w", "."); err != nil {
		return err
	}
	if _, err := m.in("go", "test", "-run=^$", "./..."); err != nil { // completes go.sum
		return err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-f", "."},
		{"-c", "user.name=impact", "-c", "user.email=impact@example.com", "commit", "-qm", "base"}} {
		if _, err := m.in("git", args...); err != nil {
			return err
		}
	}
	failed, ran := m.test()
	m.failing, m.tests = failed, ran
	_, err = m.in(m.o.stemma, "test", "-recursion="+m.o.recursion, "./...")
	if err != nil && len(failed) > 0 {
		err = nil // they fail for stemma as well
	}
	return err
}

// test runs all tests and returns those that failed, as PACKAGE.NAME, and how many ran. A package whose
// tests ended otherwise, since they did not compile say, has no name.
func (m *module) test() (failed map[string]bool, ran int) {
	// A change may make a loop endless, and the loop may allocate.
	out, _ := m.in("sh", "-c", "ulimit -v 8388608; exec go test -json -timeout=60s ./...")
	failed = make(map[string]bool)
	running := make(map[string]string)
	for in := bufio.NewScanner(bytes.NewReader(out)); in.Scan(); {
		var e struct{ Action, Package, Test string }
		if json.Unmarshal(in.Bytes(), &e) != nil || strings.Contains(e.Test, "/") {
			continue
		}
		switch {
		case e.Action == "run":
			ran++
			running[e.Package] = e.Test
		case e.Action == "fail" && e.Test != "":
			failed[e.Package+"."+e.Test] = true
			delete(running, e.Package)
		case e.Action == "pass" || e.Action == "skip":
			delete(running, e.Package)
		case e.Action == "fail" && running[e.Package] != "": // it ended the process
			failed[e.Package+"."+running[e.Package]] = true
		}
	}
	return failed, ran
}

// listed returns the tests that stemma lists for the change.
func (m *module) listed() (tests map[string]bool, all map[string]bool, err error) {
	out, err := m.in(m.o.stemma, "tests", "-json", "-changed", "HEAD")
	if err != nil {
		return nil, nil, err
	}
	var list struct {
		Affected []struct {
			Package string
			All     bool
			Tests   []string
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, nil, err
	}
	tests, all = make(map[string]bool), make(map[string]bool)
	for _, a := range list.Affected {
		all[a.Package] = a.All
		for _, t := range a.Tests {
			tests[a.Package+"."+t] = true
		}
	}
	return tests, all, nil
}

// mutate tries the changes.
func (m *module) mutate() error {
	sites, err := findSites(m.dir)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(m.o.seed, 2))
	r.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	tried, killed, failures, listed := 0, 0, 0, 0
	for _, s := range sites {
		if tried == m.o.mutants {
			break
		}
		undo, err := s.apply()
		if err != nil {
			return err
		}
		if _, err := m.in("go", "vet", "-atomic", "./..."); err != nil { // it does not compile
			if err := undo(); err != nil {
				return err
			}
			continue
		}
		if tried++; tried%25 == 0 {
			fmt.Fprintf(os.Stderr, "impact: %s: change %d of %d\n", m.name, tried, m.o.mutants)
		}
		tests, all, err := m.listed()
		if err != nil {
			return err
		}
		failed, _ := m.test()
		listed += len(tests)
		before := failures
		for name := range failed {
			if m.failing[name] {
				continue
			}
			failures++
			if pkg := name[:strings.LastIndexByte(name, '.')]; !tests[name] && !all[pkg] {
				m.missed = append(m.missed, fmt.Sprintf("%s: %s", s, name))
			}
		}
		if failures > before {
			killed++
		}
		if err := undo(); err != nil {
			return err
		}
	}
	fmt.Printf("| %s | %d | %d | %d | %d | %d | %.1f |\n", m.name, m.tests, tried, killed, failures, len(m.missed),
		float64(listed)/float64(max(tried, 1)))
	slices.Sort(m.missed)
	for _, line := range m.missed {
		fmt.Fprintln(os.Stderr, "not listed:", strings.TrimPrefix(line, m.dir+"/"))
	}
	return nil
}
