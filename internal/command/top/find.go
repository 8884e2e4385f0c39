package top

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/record/store"
)

// Find returns the live directory that is meant: on its own, by a process ID, or, for "", that of
// the program that began last and still runs, here or in a directory of records.
func Find(name string) (string, error) {
	pid, err := strconv.Atoi(name)
	isPID := err == nil && pid > 0
	if name != "" && !isPID {
		switch place, err := store.Probe(name); {
		case err != nil:
			return "", err
		case !place.Dir:
			return "", base.Usagef("%s: a file, which does not change; name a live directory; for a sealed file see "+
				"stemma report and stemma view", name)
		case !place.Live():
			live, err := store.FindLive(name)
			if dir := newest(live, true); dir != "" || err != nil {
				return dir, err
			}
			return "", base.Usagef("%s: neither a live directory nor one in which a program that runs records; "+
				"name a process ID or a live directory", name)
		}
		return name, nil
	}
	if isPID && store.IsLive(name) {
		return name, nil
	}
	if dir := mapped(pid); dir != "" {
		return dir, nil
	}
	dir := newest(liveDirs(pid), !isPID)
	switch {
	case dir != "":
		return dir, nil
	case isPID:
		return "", fmt.Errorf("no live directory of process %d here; name the directory", pid)
	}
	return "", base.Usagef("top: no program runs that records into %s here; name a process ID or a live directory",
		store.Out())
}

// newest returns the live directory of the program that began last, if asked for of those that still run, or "".
func newest(dirs []string, running bool) (found string) {
	var last store.Source
	for _, dir := range dirs {
		s := store.SourceOf(dir)
		if (s.Running || !running) && (found == "" || s.Newer(last)) {
			found, last = dir, s
		}
	}
	return found
}

// mapped returns the live directory whose main file a running process has mapped, "" if that cannot be seen: it may
// record anywhere. A process in a container has another root.
func mapped(pid int) string {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.SplitN(strings.TrimSpace(line), "/", 2)
		if len(fields) < 2 || !slices.Contains(engine.Files(), filepath.Base(fields[1])) {
			continue
		}
		dir := "/" + filepath.Dir(fields[1])
		for _, dir := range []string{dir, fmt.Sprintf("/proc/%d/root%s", pid, dir)} {
			if live, _, ok := store.SegmentOf(dir); ok && store.IsLive(live) {
				return live // while a segment ends, it is mapped as well
			}
			if store.IsLive(dir) {
				return dir
			}
		}
	}
	return ""
}

// liveDirs returns the live directories where programs that are started here record, and in the stemma.out of
// the process's working directory.
func liveDirs(pid int) []string {
	dirs := store.LiveDirs(store.Out())
	if pid > 0 {
		dirs = append(dirs, store.LiveDirs(fmt.Sprintf("/proc/%d/cwd/%s", pid, store.OutDir))...)
	} else {
		return dirs
	}
	var of []string
	for _, dir := range dirs {
		if i := strings.LastIndexByte(dir, '-'); i > 0 && strings.HasSuffix(dir[:i], fmt.Sprintf(".%d", pid)) {
			of = append(of, dir)
		}
	}
	return of
}
