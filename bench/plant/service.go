package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed service.txt
var service string

// files returns the files of the service after some edits.
func files(edits []edit) (map[string]string, error) {
	all := make(map[string]string)
	names := regexp.MustCompile(`(?m)^-- (.*) --\n`)
	places := names.FindAllStringSubmatchIndex(service, -1)
	for i, at := range places {
		end := len(service)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		all[service[at[2]:at[3]]] = service[at[1]:end]
	}
	for _, e := range edits {
		if text, ok := all[e.file]; ok != (e.old != "") || !strings.Contains(text, e.old) {
			return nil, fmt.Errorf("%s: no %q", e.file, e.old)
		}
		all[e.file] = strings.ReplaceAll(all[e.file], e.old, e.new)
		if e.old == "" {
			all[e.file] = e.new
		}
	}
	return all, nil
}

// A shop is where the service is changed.
type shop struct{ dir, stemma string }

// record builds the service with some edits, runs it and seals its record, as docs recommend it.
func (s *shop) record(edits []edit, profile string, env ...string) (map[string]string, error) {
	all, err := files(edits)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"shop", "csv"} {
		if err := os.RemoveAll(filepath.Join(s.dir, dir)); err != nil {
			return nil, err
		}
	}
	for name, text := range all {
		name = filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(s.stemma, "run", "-deterministic", "-metrics=calls,alloc,ops", "-o", "../"+profile, ".")
	cmd.Dir, cmd.Env = filepath.Join(s.dir, "shop"), append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("stemma run: %w\n%s", err, out)
	}
	return all, nil
}

// gate is the gate that docs recommend.
func (s *shop) gate(base, profile string) (passed bool, out string, err error) {
	cmd := exec.Command(s.stemma, "diff", "-gate", "-annotate", "../"+base, "../"+profile)
	cmd.Dir = filepath.Join(s.dir, "shop")
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == regression {
		return false, string(text), nil
	}
	return err == nil, string(text), err
}

// annotated reports whether an annotation is on a line with the text that a change names.
func (c *change) annotated(out string, all map[string]string) bool {
	for _, m := range regexp.MustCompile(`(?m)^::error file=(.*),line=(\d+),`).FindAllStringSubmatch(out, -1) {
		var line int
		fmt.Sscan(m[2], &line)
		lines := strings.Split(all["shop/"+m[1]], "\n")
		if m[1] == c.file && line <= len(lines) && strings.Contains(lines[line-1], c.at) {
			return true
		}
	}
	return false
}

// try makes each change in turn and returns how many the gate judged wrongly.
func (s *shop) try(verbose bool) (wrong int, err error) {
	if _, err := s.record(nil, "base.stemma"); err != nil {
		return 0, err
	}
	for i, c := range append(regressions, innocent...) {
		bad := i < len(regressions)
		all, err := s.record(c.edits, "new.stemma")
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.name, err)
		}
		passed, out, err := s.gate("base.stemma", "new.stemma")
		if err != nil {
			return 0, fmt.Errorf("%s: %w\n%s", c.name, err, out)
		}
		verdict := "right"
		switch {
		case passed && bad:
			verdict = "missed"
		case !passed && !bad:
			verdict = "an alarm"
		case bad && !c.annotated(out, all):
			verdict = "found, and not annotated"
		}
		if verdict != "right" {
			wrong++
		}
		if fmt.Printf("%s: %s\n", c.name, verdict); verbose || verdict != "right" {
			fmt.Println(out)
		}
	}
	return wrong, nil
}

// repeat records one revision n times, and its baselines, and wants no alarm.
func (s *shop) repeat(n int) error {
	for _, contexts := range []string{"-contexts=false", "-contexts"} {
		cmd := exec.Command(s.stemma, "baseline", contexts, "-o", "base.txt", "base.stemma")
		cmd.Dir = s.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("stemma baseline: %w\n%s", err, out)
		}
		cmd = exec.Command(s.stemma, "diff", "-fail-over",
			"calls/function>0,alloc_objects/function>0,alloc_space/function>0,ops/function>0",
			"base.txt", "base.stemma")
		cmd.Dir = s.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("a record differs from its own baseline: %w\n%s", err, out)
		}
	}
	for range n {
		if _, err := s.record(nil, "again.stemma"); err != nil {
			return err
		}
		for _, base := range []string{"base.stemma", "base.txt"} {
			passed, out, err := s.gate(base, "again.stemma")
			if err == nil && !passed {
				err = errors.New("an alarm")
			}
			if err != nil {
				return fmt.Errorf("one revision, held against %s: %w\n%s", base, err, out)
			}
		}
	}
	fmt.Printf("%d records of one revision: no alarm\n", n)
	return nil
}

// innocentRelease records the service with another release of Go, whose standard library has other counts.
func (s *shop) innocentRelease(toolchain string) error {
	if _, err := s.record(nil, "other.stemma", "GOTOOLCHAIN="+toolchain); err != nil {
		return err
	}
	passed, out, err := s.gate("base.stemma", "other.stemma")
	if err == nil && !passed {
		err = errors.New("an alarm")
	}
	if err != nil {
		return fmt.Errorf("with %s: %w\n%s", toolchain, err, out)
	}
	fmt.Printf("with %s: right\n", toolchain)
	return nil
}
