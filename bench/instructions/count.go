package main

import (
	"bufio"
	"debug/elf"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"

	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/program"
)

// counter is the source of a plugin for QEMU that counts how often each translated block runs.
//
//go:embed plugin/count.c
var counter []byte

// buildCounter compiles the plugin.
func buildCounter(dir string) (string, error) {
	source, plugin := filepath.Join(dir, "count.c"), filepath.Join(dir, "count.so")
	if err := os.WriteFile(source, counter, 0o644); err != nil {
		return "", err
	}
	out, err := exec.Command("cc", "-shared", "-fPIC", "-O2", "-o", plugin, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cc: %w\n%s", err, out)
	}
	return plugin, nil
}

// A function is where the code of a symbol begins.
type function struct {
	begin uint64
	name  string
}

// functionsOf returns the functions of an executable by address.
func functionsOf(exe string) ([]function, error) {
	f, err := elf.Open(exe)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	var list []function
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			list = append(list, function{s.Value, s.Name})
		}
	}
	sort.Slice(list, func(i, k int) bool { return list[i].begin < list[k].begin })
	return list, nil
}

// textSize returns how many bytes of machine code an executable has.
func textSize(exe string) (uint64, error) {
	f, err := elf.Open(exe)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := f.Section(".text")
	if s == nil {
		return 0, fmt.Errorf("%s: no section .text", exe)
	}
	return s.Size, nil
}

// A run is an execution under an emulator.
type run struct {
	plugin, arch, exe, dir string
	program                *program.Program
	env                    []string // beside the environment
}

// instructions returns how many instructions each function has executed.
func (r run) instructions() (map[string]uint64, error) {
	functions, err := functionsOf(r.exe)
	if err != nil {
		return nil, err
	}
	out, err := os.CreateTemp(filepath.Dir(r.plugin), "blocks-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	args := append([]string{"-plugin", r.plugin + ",out=" + out.Name(), r.exe}, r.program.RunArgs(r.dir)...)
	cmd := exec.Command(machine.Emulators[r.arch], args...)
	cmd.Env = append(append(os.Environ(), "GOMAXPROCS=1"), r.env...)
	if err := runs(r.program, r.dir, cmd); err != nil {
		return nil, err
	}
	return readBlocks(out, functions)
}

// readBlocks adds up what the plugin has written: for each block its address, instructions and runs.
func readBlocks(f *os.File, functions []function) (map[string]uint64, error) {
	sum := map[string]uint64{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var pc, n, runs uint64
		if _, err := fmt.Sscanf(lines.Text(), "%x %d %d", &pc, &n, &runs); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		name := "?"
		if i := sort.Search(len(functions), func(i int) bool { return functions[i].begin > pc }); i > 0 {
			name = functions[i-1].name
		}
		sum[name] += n * runs
	}
	return sum, lines.Err()
}
