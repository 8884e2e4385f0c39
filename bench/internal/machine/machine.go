// Package machine describes where and with what is measured.
package machine

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Machine is a machine, a Go release and a commit of stemma.
type Machine struct {
	CPU        string
	CPUs       int
	GOMAXPROCS int
	Kernel     string
	Go         string
	Commit     string
	Start      time.Time
}

// Describe describes this machine and the commit that t is of.
func Describe(t Tree) Machine {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = []byte("of unknown version")
	}
	return Machine{
		CPU:        cpuModel(),
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		Kernel:     runtime.GOOS + " " + strings.TrimSpace(string(kernel)),
		Go:         t.GoVersion,
		Commit:     commit(t.Bench),
		Start:      time.Now().UTC().Truncate(time.Second),
	}
}

// Lines returns the description as names and facts.
func (m Machine) Lines() [][2]string {
	return [][2]string{
		{"machine", fmt.Sprintf("%s, %d CPUs, %s", m.CPU, m.CPUs, m.Kernel)},
		{"go", fmt.Sprintf("%s %s/%s, GOMAXPROCS %d", m.Go, runtime.GOOS, runtime.GOARCH, m.GOMAXPROCS)},
		{"stemma", m.Commit},
		{"start", m.Start.Format(time.RFC3339)},
	}
}

// Print prints the lines.
func (m Machine) Print() {
	for _, l := range m.Lines() {
		fmt.Printf("%-8s %s\n", l[0], l[1])
	}
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer f.Close()
	return modelName(bufio.NewScanner(f))
}

func modelName(s *bufio.Scanner) string {
	for s.Scan() {
		key, value, ok := strings.Cut(s.Text(), ":")
		if ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

// commit names the commit in dir and reports whether files differ from it.
func commit(dir string) string {
	head, err := git(dir, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "commit unknown"
	}
	changed, err := git(dir, "status", "--porcelain", ":/")
	if err != nil || changed != "" {
		return "commit " + head + ", with changes"
	}
	return "commit " + head
}

func git(dir string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

// Tree is the source tree that the command runs in, and its Go.
type Tree struct {
	Bench     string // directory of the module bench
	GOROOT    string
	GoVersion string
}

// Find returns the tree of the working directory, which must be in bench.
func Find() (Tree, error) {
	out, err := exec.Command("go", "env", "-json", "GOROOT", "GOVERSION", "GOMOD").Output()
	if err != nil {
		return Tree{}, fmt.Errorf("go env: %w", err)
	}
	var env struct{ GOROOT, GOVERSION, GOMOD string }
	if err := json.Unmarshal(out, &env); err != nil {
		return Tree{}, fmt.Errorf("go env: %w", err)
	}
	home := filepath.Dir(env.GOMOD)
	if filepath.Base(home) != "bench" {
		return Tree{}, fmt.Errorf("go env GOMOD: have %q, want that of bench; run it in bench or with go "+
			"run -C bench", env.GOMOD)
	}
	return Tree{Bench: home, GOROOT: env.GOROOT, GoVersion: env.GOVERSION}, nil
}

// BuildStemma builds the stemma command of t as the file out.
func (t Tree) BuildStemma(out string) error {
	cmd := exec.Command("go", "build", "-o", out, "./cmd/stemma")
	cmd.Dir = filepath.Dir(t.Bench)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build stemma: %w\n%s", err, text)
	}
	return nil
}
