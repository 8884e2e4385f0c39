// Busydisk shows what a disk that others write to does to a program that records there: a
// loop of a microsecond of calls, plain and recorded on that disk and in memory, while
// nothing and while much is written and synced.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
)

func main() {
	length := flag.Duration("for", 10*time.Second, "how long each loop runs")
	dir := flag.String("dir", ".", "a directory on the disk")
	memory := flag.String("memory", "/dev/shm", "a directory in memory")
	flag.Parse()
	if err := run(*length, *dir, *memory); err != nil {
		fmt.Fprintln(os.Stderr, "busydisk:", err)
		os.Exit(1)
	}
}

func run(length time.Duration, disk, memory string) error {
	work, err := os.MkdirTemp(disk, "busydisk-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if work, err = filepath.Abs(work); err != nil {
		return err
	}
	inMemory, err := os.MkdirTemp(memory, "busydisk-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(inMemory)
	if err := build(work); err != nil {
		return err
	}
	for _, load := range []string{"quiet", "busy"} {
		stop := func() {}
		if load == "busy" {
			stop = write(filepath.Join(work, "junk"))
		}
		for _, b := range []struct{ name, records, place string }{
			{"plain", work, "-"}, {"cct", work, "disk"}, {"cct", inMemory, "memory"}, {"dacce", work, "disk"},
			{"dacce", inMemory, "memory"},
		} {
			cmd := exec.Command(filepath.Join(work, b.name), length.String())
			cmd.Env = append(os.Environ(), "STEMMA_OUT="+b.records, "GOMAXPROCS=1")
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				stop()
				return fmt.Errorf("%s: %w", b.name, err)
			}
			fmt.Printf("%-5s  %-5s  %-6s %s", load, b.name, b.place, out)
		}
		stop()
	}
	return nil
}

// build builds the loop, plain and with engines.
func build(work string) error {
	l, err := lab.In(work, "")
	if err != nil {
		return err
	}
	for name, words := range map[string][]string{
		"plain": {"go", "build"}, "cct": {l.Stemma, "build"}, "dacce": {l.Stemma, "build", "-engine=dacce"},
	} {
		cmd := exec.Command(words[0], append(words[1:], "-o", filepath.Join(work, name), "./busydisk/loop")...)
		cmd.Dir, cmd.Stderr = l.Tree.Bench, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// write writes and syncs a file, again and again, until it is told to stop.
func write(file string) (stop func()) {
	done, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		block := make([]byte, 64<<20)
		for {
			select {
			case <-done:
				return
			default:
			}
			f, err := os.Create(file)
			if err != nil {
				fmt.Fprintln(os.Stderr, "busydisk:", err)
				return
			}
			f.Write(block)
			f.Close()
			syscall.Sync() // writes the pages of records as well
		}
	}()
	return func() { close(done); <-ended }
}
