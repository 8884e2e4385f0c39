// Plant changes a program in one place at a time, and looks whether stemma diff finds the change, with function and
// line: a call more in 1,000, a loop that is n log n and was n, an allocation that escapes.
//
// Then it makes twenty changes to a service, ten that make it slower and ten that do not, and looks whether the gate
// that docs recommend finds the first, with a line, and passes the others.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/lab"
)

//go:embed program.txt
var program string

// A planting replaces the line of a function that has a mark.
type planting struct {
	name, mark, with string
	value            string   // that grows
	wants            []string // what names the function that is called more often, or what is allocated
}

// plantings returns three for each of n functions of the program.
func plantings(n int) (list []planting) {
	for i := range n {
		list = append(list,
			planting{fmt.Sprintf("work%d calls leaf%d once more in 1,000 times", i, i), fmt.Sprintf("// call %d", i),
				fmt.Sprintf("if k == 500 { sum += leaf%d(k) }", i), "calls", []string{fmt.Sprintf("main.leaf%d", i)}},
			planting{fmt.Sprintf("work%d is n log n", i), fmt.Sprintf("// loop %d", i),
				fmt.Sprintf("for j := 1; j < n; j *= 2 { sum += step%d(j) }", i), "calls",
				[]string{fmt.Sprintf("main.step%d", i)}},
			planting{fmt.Sprintf("work%d allocates", i), fmt.Sprintf("// alloc %d", i),
				fmt.Sprintf("if k == 500 { sink = &object%d{} }", i), "alloc_objects",
				[]string{fmt.Sprintf("new(main.object%d)", i), "runtime.newobject"}})
	}
	return list
}

func main() {
	n := flag.Int("functions", 10, "how many functions are changed, in three ways each")
	verbose := flag.Bool("v", false, "print what diff says of each")
	release := flag.String("toolchain", "", "also record the service with this other release of Go, as go1.26.9")
	repeats := flag.Int("repeats", 20, "how often the service is recorded as it is, which must raise no alarm")
	flag.Parse()
	if err := run(*n, *repeats, *release, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "plant:", err)
		os.Exit(1)
	}
}

func run(n, repeats int, release string, verbose bool) error {
	l, err := lab.Open("plant")
	if err != nil {
		return err
	}
	defer l.Close()
	if n > 0 {
		if err := plant(l, n, verbose); err != nil {
			return err
		}
	}
	s := &shop{dir: filepath.Join(l.Work, "service"), stemma: l.Stemma}
	wrong, err := s.try(verbose)
	if err != nil {
		return err
	}
	fmt.Printf("%d changes of a service, %d judged wrongly\n", len(regressions)+len(innocent), wrong)
	if wrong > 0 {
		return errors.New("the gate is wrong")
	}
	if err := s.repeat(repeats); err != nil {
		return err
	}
	if release != "" {
		return s.innocentRelease(release)
	}
	return nil
}

// plant makes three changes to each of n functions.
func plant(l *lab.Lab, n int, verbose bool) error {
	b := &bed{dir: filepath.Join(l.Work, "app"), stemma: l.Stemma}
	if err := b.record(text(n), "base.stemma"); err != nil {
		return err
	}
	if err := b.record(text(n), "same.stemma"); err != nil {
		return err
	}
	if out, err := b.diff("same.stemma"); err != nil {
		return fmt.Errorf("two runs of one program differ: %w\n%s", err, out)
	}
	missed := 0
	for _, p := range plantings(n) {
		found, out, err := b.plant(text(n), p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if !found {
			missed++
			fmt.Printf("missed: %s\n%s\n", p.name, out)
		} else if verbose {
			fmt.Printf("found: %s\n%s\n", p.name, out)
		}
	}
	fmt.Printf("%d plantings, %d missed\n", 3*n, missed)
	if missed > 0 {
		return errors.New("not all were found")
	}
	return nil
}

// text returns the program with n functions.
func text(n int) string {
	head, body, _ := strings.Cut(program, "// ---\n")
	var calls, all strings.Builder
	for i := range n {
		fmt.Fprintf(&calls, "\t\tsum += work%d(1000)\n", i)
		all.WriteString(strings.ReplaceAll(body, "#", fmt.Sprint(i)))
	}
	return strings.Replace(head, "\t\t// calls\n", calls.String(), 1) + all.String()
}

// A bed is where a program is changed.
type bed struct{ dir, stemma string }

// record builds the program, runs it and seals its record.
func (b *bed) record(text, profile string) error {
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return err
	}
	for name, content := range map[string]string{"main.go": text, "go.mod": "module example.com/app\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o666); err != nil {
			return err
		}
	}
	cmd := exec.Command(b.stemma, "run", "-deterministic", "-metrics=calls,alloc", "-o", profile, ".")
	cmd.Dir = b.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("stemma run: %w\n%s", err, out)
	}
	return nil
}

// diff is the gate of a CI job.
func (b *bed) diff(profile string) (string, error) {
	cmd := exec.Command(b.stemma, "diff", "-annotate", "-fail-over", "calls/function>0,alloc_objects/function>0",
		"base.stemma", profile)
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// regression is the exit code of the gate.
const regression = 3

// plant makes a change, and reports whether it was found: the gate fails, and an annotation at the line that was
// changed names the function that is called more often, or what was allocated.
func (b *bed) plant(text string, p planting) (found bool, out string, err error) {
	at := strings.Index(text, p.mark+"\n")
	if at < 0 {
		return false, "", fmt.Errorf("no %q in the program", p.mark)
	}
	line := strings.Count(text[:at], "\n") + 1
	if err := b.record(strings.Replace(text, p.mark+"\n", p.with+"\n", 1), "new.stemma"); err != nil {
		return false, "", err
	}
	out, err = b.diff("new.stemma")
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != regression {
		return false, out, nil
	}
	place := fmt.Sprintf("file=main.go,line=%d,", line)
	for l := range strings.Lines(out) {
		for _, want := range p.wants {
			named := strings.Contains(l, "::"+p.value+" of "+want+":")
			if strings.HasPrefix(l, "::error ") && strings.Contains(l, place) && named {
				return true, out, nil
			}
		}
	}
	return false, out, nil
}
