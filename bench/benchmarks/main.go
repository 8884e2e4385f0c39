// Benchmarks runs benchmarks of modules of the wild many times beside busy loops, as stemma test -bench does, and says
// which of them count the same in all runs: with -deterministic, and without, where it names the calls with which two
// runs part. The tests are built once. Then it adds one call to a loop of a module, and lets benchstat compare.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/lab"
)

// A module has benchmarks.
type module struct {
	path, version string
	packages      string // of them whose benchmarks run
	skip          string // those that do not, as -skip of go test has them: they take too long
	plant         *planting
}

// modules are those whose benchmarks run, if the command line names none.
var modules = []module{
	{path: "github.com/google/uuid", version: "v1.6.0"},
	{path: "github.com/tidwall/gjson", version: "v1.18.0"},
	{path: "github.com/cespare/xxhash/v2", version: "v2.3.0"},
	{path: "github.com/google/btree", version: "v1.1.3", skip: "AndRestore"},
	{path: "github.com/expr-lang/expr", version: "v1.17.8"},
	{path: "github.com/go-chi/chi/v5", version: "v5.5.0", packages: "./..."},
	{path: "github.com/dlclark/regexp2", version: "v1.12.0", skip: "_(32K|1M|32M)$"},
	{path: "github.com/hashicorp/golang-lru/v2", version: "v2.0.7", packages: "./..."},
	{path: "github.com/rivo/uniseg", version: "v0.4.7"},
	{path: "github.com/shopspring/decimal", version: "v1.4.0", skip: "Divide|Exp"},
	{path: "github.com/Masterminds/semver/v3", version: "v3.4.0", plant: &planting{
		file: "version.go", behind: "func NewVersion(v string) (*Version, error) {\n",
		benchmarks: "^Benchmark(Strict)?NewVersion", grown: "NewVersion"}},
}

// options is what the command line says.
type options struct {
	runs, loops      int
	nice             bool
	metrics, pattern string
	benchtime        string
	keep             string
	modules          []module
}

func main() {
	o := options{}
	flag.IntVar(&o.runs, "runs", 10, "how often the benchmarks of each module run")
	flag.IntVar(&o.loops, "loops", 2, "how many busy loops run beside them")
	flag.BoolVar(&o.nice, "nice", true, "give the loops a low priority; false: that of the benchmarks")
	only := flag.String("module", "", "run the benchmarks of modules `A,B,C`, words of their paths; empty: of all")
	flag.StringVar(&o.metrics, "metrics", "calls,alloc,ops", "what is counted, as -metrics of stemma test")
	flag.StringVar(&o.pattern, "bench", ".", "the benchmarks that run, as -bench of go test")
	flag.StringVar(&o.benchtime, "benchtime", "100x", "how often each of them runs: `Nx`")
	flag.StringVar(&o.keep, "keep", "",
		"work in directory `DIR`, and leave what is there: modules and what was printed")
	flag.Parse()
	words := lab.Names(*only)
	for _, m := range modules {
		if words == nil || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(m.path, w) }) {
			o.modules = append(o.modules, m)
		}
	}
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	l, err := o.open()
	if err != nil {
		return err
	}
	defer l.Close()
	stop, err := lab.Busy(o.loops, o.nice)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Println("| module | benchmarks | runs | differ with -deterministic | differ without |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	var notes []string
	for _, m := range o.modules {
		dir := filepath.Join(l.Work, path.Base(path.Dir(m.path))+"-"+path.Base(m.path))
		if _, err := os.Stat(dir); err != nil {
			if err := lab.FetchModule(m.path, m.version, dir); err != nil {
				return err
			}
		}
		var differ [2]string
		var names []string
		tests, err := o.build(l, m, dir)
		if err != nil {
			return err
		}
		for i, env := range []string{"STEMMA_DETERMINISTIC=1", "STEMMA_DETERMINISTIC="} {
			lines, err := o.repeat(l, m, tests, env)
			if err != nil {
				return fmt.Errorf("%s: %w", m.path, err)
			}
			names = slices.Sorted(maps.Keys(lines))
			changed := varying(lines, o.runs)
			differ[i] = fmt.Sprint(len(changed))
			for _, name := range changed {
				note := fmt.Sprintf("%s %s: %s", env, name,
					strings.Join(slices.Compact(slices.Sorted(slices.Values(lines[name]))), " / "))
				if strings.HasSuffix(env, "=") {
					why, err := o.reasons(l, tests, name)
					if err != nil {
						return fmt.Errorf("%s: %w", m.path, err)
					}
					note += "\n  " + why
				}
				notes = append(notes, note)
			}
		}
		fmt.Printf("| %s %s | %d | %d | %s | %s |\n", m.path, m.version, len(names), o.runs, differ[0], differ[1])
		if m.plant != nil {
			text, err := m.plant.try(l, dir, o.metrics)
			if err != nil {
				return fmt.Errorf("%s: %w", m.path, err)
			}
			notes = append(notes, text)
		}
	}
	for _, n := range notes {
		fmt.Println(n)
	}
	return nil
}

// open makes the directory to work in.
func (o *options) open() (*lab.Lab, error) {
	if o.keep != "" {
		return lab.In(o.keep, "")
	}
	return lab.Open("benchmarks")
}

// A binary is the test of a package, with the variables that make it print what its benchmarks count.
type binary struct {
	file, dir string
	env       []string
}

// build builds the tests of a module's packages that have any.
func (o *options) build(l *lab.Lab, m module, dir string) ([]binary, error) {
	env, err := o.variables(l)
	if err != nil {
		return nil, err
	}
	list, err := output(dir, "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}",
		cmp.Or(m.packages, "."))
	if err != nil {
		return nil, err
	}
	var all []binary
	for i, pkg := range strings.Fields(list) {
		b := binary{fmt.Sprintf("%s.%d.test", dir, i), pkg, env}
		if _, err := output(pkg, l.Stemma, "test", "-c", "-metrics="+o.metrics, "-o", b.file, "."); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// variables returns those that stemma env prints for benchmarks: stemma test runs tests with the same.
func (o *options) variables(l *lab.Lab) (env []string, err error) {
	text, err := output(l.Work, l.Stemma, "env", "-json", "-metrics="+o.metrics)
	if err != nil {
		return nil, err
	}
	vars := make(map[string]string)
	if err := json.Unmarshal([]byte(text), &vars); err != nil {
		return nil, err
	}
	for name, value := range vars {
		if strings.HasPrefix(name, "STEMMA_") {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "STEMMA_OUT="+filepath.Join(l.Work, "out")), nil
}

// output runs a command and returns what it prints.
func output(dir string, args ...string) (string, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return string(text), nil
}

// repeat runs benchmarks of tests, and returns what each line has behind the number of operations. Each run is one
// process, so that what a process does once counts in all of them.
func (o *options) repeat(l *lab.Lab, m module, tests []binary, env string) (map[string][]string, error) {
	lines := make(map[string][]string)
	for n := range o.runs {
		for _, b := range tests {
			cmd := exec.Command(b.file, "-test.run=^$", "-test.bench="+o.pattern, "-test.benchtime="+o.benchtime,
				"-test.skip="+cmp.Or(m.skip, "^$"))
			cmd.Dir, cmd.Env, cmd.Stderr = b.dir, append(append(os.Environ(), b.env...), env), os.Stderr
			text, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", b.file, err, text)
			}
			collect(string(text), lines)
			if o.keep == "" {
				continue
			}
			if err := os.WriteFile(fmt.Sprintf("%s.%02d.%s.txt", b.file, n, env), text, 0o666); err != nil {
				return nil, err
			}
		}
		if err := os.RemoveAll(filepath.Join(l.Work, "out")); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// collect adds what each line of a run has behind the number of operations. Packages may have benchmarks of one name.
func collect(text string, lines map[string][]string) {
	in := ""
	for line := range strings.Lines(text) {
		if pkg, ok := strings.CutPrefix(line, "pkg: "); ok {
			in = path.Base(strings.TrimSpace(pkg)) + "."
		} else if name, counts, ok := parseLine(line); ok {
			lines[in+name] = append(lines[in+name], counts)
		}
	}
}

// parseLine returns the name of a benchmark's line and the values behind the number of operations, with their units.
func parseLine(line string) (name, counts string, ok bool) {
	words := strings.Fields(line)
	if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
		return "", "", false
	}
	return words[0], strings.Join(words[2:], " "), true
}

// varying returns the benchmarks that have not the same line in all runs.
func varying(lines map[string][]string, runs int) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		all := lines[name]
		if len(all) != runs || slices.ContainsFunc(all, func(s string) bool { return s != all[0] }) {
			names = append(names, name)
		}
	}
	return names
}
