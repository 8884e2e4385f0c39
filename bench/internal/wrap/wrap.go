// Package wrap builds programs so that a profiler runs around their main
// function, without a change of their sources.
package wrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// renamed is what the program's own main function is called.
const renamed = "benchMain"

// fgprof is the version that is measured.
const fgprof = "github.com/felixge/fgprof@v0.9.5"

// ProfileEnv names the file that the profilers "pprof-file" and "pprof-file-at-exit" write.
const ProfileEnv = "BENCH_CPUPROFILE"

// ProfileHz is how many samples they take for each second on a CPU: as many as Linux has
// ticks, where the timers are looked at. runtime/pprof says on stderr that its own rate, 100, was
// not set.
const ProfileHz = 250

// MemStatsLine begins the line on standard error in which "memstats" and "memstats-at-exit" say what the heap has had:
// Mallocs, Frees and TotalAlloc of runtime.MemStats. Behind these are pairs of numbers: what objects take that have
// fewer than 20 kB, and how many there were of them.
const MemStatsLine = "bench memstats:"

// AllocsEnv names the file that they write the profile allocs to, if it is set.
const AllocsEnv = "BENCH_ALLOCPROFILE"

// profilers are the bodies of files that are added to package main, by name.
// What pprof and fgprof record is written and thrown away, since writing is part of
// the cost. A program that ends with os.Exit never leaves main: for those there is
// pprof-file-at-exit, whose hook only programs in GOROOT may import.
var profilers = map[string]string{
	"pprof-file": profileToFile("", "defer pprof.StopCPUProfile()"),
	"pprof-file-at-exit": profileToFile(`"internal/runtime/exithook"`,
		"exithook.Add(exithook.Hook{F: pprof.StopCPUProfile, RunOnFailure: true})"),
	"memstats": memStats("", "defer benchMemStats()"),
	"memstats-at-exit": memStats(`"internal/runtime/exithook"`,
		"exithook.Add(exithook.Hook{F: benchMemStats, RunOnFailure: true})"),
	"pprof": `package main

import (
	"io"
	"runtime/pprof"
)

func main() {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		panic(err)
	}
	defer pprof.StopCPUProfile()
	` + renamed + `()
}
`,
	"fgprof": `package main

import (
	"io"

	"github.com/felixge/fgprof"
)

func main() {
	stop := fgprof.Start(io.Discard, fgprof.FormatPprof)
	defer func() {
		if err := stop(); err != nil {
			panic(err)
		}
	}()
	` + renamed + `()
}
`,
}

// profileToFile returns a file that profiles main until stop does its work.
func profileToFile(imported, stop string) string {
	return `package main

import (
	` + imported + `
	"os"
	"runtime"
	"runtime/pprof"
)

func main() {
	runtime.SetCPUProfileRate(` + strconv.Itoa(ProfileHz) + `)
	f, err := os.Create(os.Getenv("` + ProfileEnv + `"))
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		panic(err)
	}
	` + stop + `
	` + renamed + `()
}
`
}

// memStats returns a file that says at the end of main, which stop arranges, what was allocated.
func memStats(imported, stop string) string {
	return `package main

import (
	` + imported + `
	"os"
	"runtime"
	"runtime/pprof"
)

func benchMemStats() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	print("` + MemStatsLine + `", " ", m.Mallocs, " ", m.Frees, " ", m.TotalAlloc)
	for _, c := range m.BySize {
		print(" ", c.Size, " ", c.Mallocs)
	}
	println()
	if name := os.Getenv("` + AllocsEnv + `"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			panic(err)
		}
		runtime.GC() // or the newest are missing
		if err := pprof.Lookup("allocs").WriteTo(f, 0); err != nil {
			panic(err)
		}
		f.Close()
	}
}

func main() {
	` + stop + `
	` + renamed + `()
}
`
}

// Main returns the flags with which go build wraps the main function of the
// package in dir in a profiler. Files that the flags name are made in work.
//
// A program that ends with os.Exit ends before the profile is written, unless the
// profiler is pprof-file-at-exit.
func Main(dir, work, profiler string) ([]string, error) {
	added, ok := profilers[profiler]
	if !ok {
		return nil, fmt.Errorf("wrap: no profiler %q", profiler)
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	name, text, err := renameMain(dir)
	if err != nil {
		return nil, err
	}
	// An overlay, and not a copy of the module: its path, and with it the positions
	// in the binary, stay as they are in the plain build.
	replace := map[string]string{
		name:                                    filepath.Join(work, "main.go.txt"),
		filepath.Join(dir, "bench_profiled.go"): filepath.Join(work, "profiled.go.txt"),
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"main.go.txt": text, "profiled.go.txt": []byte(added),
		"overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			return nil, err
		}
	}
	flags := []string{"-overlay=" + filepath.Join(work, "overlay.json")}
	if profiler != "fgprof" {
		return flags, nil
	}
	mod, err := require(dir, work, fgprof)
	return append(flags, "-modfile="+mod), err
}

// renameMain returns the file in dir that declares main, and its text with
// another name there.
func renameMain(dir string) (name string, text []byte, err error) {
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		return "", nil, err
	}
	for _, base := range append(pkg.GoFiles, pkg.CgoFiles...) {
		name := filepath.Join(dir, base)
		text, err := os.ReadFile(name)
		if err != nil {
			return "", nil, err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return "", nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "main" {
				at := fset.Position(fn.Name.Pos()).Offset
				return name, append(append(append([]byte(nil), text[:at]...), renamed...), text[at+len("main"):]...),
					nil
			}
		}
	}
	return "", nil, errors.New("wrap: " + dir + ": no function main")
}

// require copies the go.mod of dir to work, adds a module to it, and returns
// where it is.
func require(dir, work, module string) (string, error) {
	mod := filepath.Join(work, "wrapped.mod")
	for from, to := range map[string]string{"go.mod": mod, "go.sum": filepath.Join(work, "wrapped.sum")} {
		data, err := os.ReadFile(filepath.Join(dir, from))
		if err != nil && !os.IsNotExist(err) {
			return "", err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return "", err
		}
	}
	cmd := exec.Command("go", "get", "-modfile="+mod, module)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go get %s: %w\n%s", module, err, out)
	}
	return mod, nil
}
