// Benchmarks runs benchmarks of modules of the wild many times beside busy loops, as stemma test -bench does, and says
// which of them count the same in all runs: with -deterministic, and without.
package main

import (
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

// modules are small ones with benchmarks.
var modules = []struct{ path, version string }{
	{"github.com/google/uuid", "v1.6.0"},
	{"github.com/tidwall/gjson", "v1.18.0"},
	{"github.com/cespare/xxhash/v2", "v2.3.0"},
}

// options is what the command line says.
type options struct {
	runs, loops      int
	metrics, pattern string
	keep             string
}

func main() {
	o := options{}
	flag.IntVar(&o.runs, "runs", 10, "how often the benchmarks of each module run")
	flag.IntVar(&o.loops, "loops", 2, "how many busy loops run beside them")
	flag.StringVar(&o.metrics, "metrics", "calls,alloc,ops", "what is counted, as -metrics of stemma test")
	flag.StringVar(&o.pattern, "bench", ".", "the benchmarks that run, as -bench of go test")
	flag.StringVar(&o.keep, "keep", "",
		"work in directory `DIR`, and leave what is there: modules and what was printed")
	flag.Parse()
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
	stop, err := lab.Busy(o.loops, true)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Println("| module | benchmarks | runs | differ with -deterministic | differ without |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	var notes []string
	for _, m := range modules {
		dir := filepath.Join(l.Work, path.Base(path.Dir(m.path))+"-"+path.Base(m.path))
		if _, err := os.Stat(dir); err != nil {
			if err := lab.FetchModule(m.path, m.version, dir); err != nil {
				return err
			}
		}
		var differ [2]string
		var names []string
		for i, flag := range []string{"-deterministic", "-benchtime=100x"} {
			lines, err := o.repeat(l, dir, flag)
			if err != nil {
				return fmt.Errorf("%s: %w", m.path, err)
			}
			names = slices.Sorted(maps.Keys(lines))
			changed := varying(lines, o.runs)
			differ[i] = fmt.Sprint(len(changed))
			for _, name := range changed {
				notes = append(notes, fmt.Sprintf("%s %s: %s", flag, name,
					strings.Join(slices.Compact(slices.Sorted(slices.Values(lines[name]))), " / ")))
			}
		}
		fmt.Printf("| %s %s | %d | %d | %s | %s |\n", m.path, m.version, len(names), o.runs, differ[0], differ[1])
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

// repeat runs the benchmarks of the module in dir, and returns what each line has behind the number of operations. Each
// run is a process of its own, so that what a process does once counts in all of them.
func (o *options) repeat(l *lab.Lab, dir, flag string) (map[string][]string, error) {
	lines := make(map[string][]string)
	for n := range o.runs {
		cmd := exec.Command(l.Stemma, "test", "-metrics="+o.metrics, flag, "-run", "^$", "-bench", o.pattern, ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "STEMMA_OUT="+filepath.Join(l.Work, "out"))
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("stemma test: %w\n%s", err, text)
		}
		for line := range strings.Lines(string(text)) {
			if name, counts, ok := parseLine(line); ok {
				lines[name] = append(lines[name], counts)
			}
		}
		if err := os.RemoveAll(filepath.Join(l.Work, "out")); err != nil {
			return nil, err
		}
		if o.keep != "" {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("run%02d%s.txt", n, flag)), text, 0o666); err != nil {
				return nil, err
			}
		}
	}
	return lines, nil
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
