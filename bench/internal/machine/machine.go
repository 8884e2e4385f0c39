package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine is where and with what was measured.
type machine struct {
	CPU        string
	CPUs       int
	GOMAXPROCS int
	Kernel     string
	Go         string
	Commit     string
	Start      time.Time
}

// describe describes this machine and the commit in dir.
func describe(goVersion, dir string) machine {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = []byte("of unknown version")
	}
	return machine{
		CPU:        cpuModel(),
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		Kernel:     runtime.GOOS + " " + strings.TrimSpace(string(kernel)),
		Go:         goVersion,
		Commit:     commit(dir),
		Start:      time.Now().UTC().Truncate(time.Second),
	}
}

// lines returns the description, one fact per line.
func (m machine) lines() [][2]string {
	return [][2]string{
		{"machine", fmt.Sprintf("%s, %d CPUs, %s", m.CPU, m.CPUs, m.Kernel)},
		{"go", fmt.Sprintf("%s %s/%s, GOMAXPROCS %d", m.Go, runtime.GOOS, runtime.GOARCH, m.GOMAXPROCS)},
		{"stemma", m.Commit},
		{"start", m.Start.Format(time.RFC3339)},
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

// commit names the commit in dir and tells whether files differ from it.
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

// goEnv returns variables of the go command.
func goEnv(names ...string) (map[string]string, error) {
	out, err := exec.Command("go", append([]string{"env", "-json"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	env := make(map[string]string)
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	return env, nil
}
