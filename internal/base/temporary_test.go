package base

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// temporaryEnv says that a test binary is to make directories, and which case that is.
const temporaryEnv = "TEMPORARY_OF_TEST"

// manyFiles is how many take a while to remove.
const manyFiles = 20_000

// TestTemporary ends processes that have temporary directories by each signal: while they work, and while a child looks
// after signals. All directories go, and the process dies of the signal.
func TestTemporary(t *testing.T) {
	if how := os.Getenv(temporaryEnv); how != "" {
		useTemporaries(t, how)
		return
	}
	for _, s := range Interrupts {
		if signal.Ignored(s) {
			t.Logf("%v is ignored, as under nohup, and stays so", s)
			continue
		}
		for _, how := range []string{"works", "holds", "removes", "done"} {
			tmp := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestTemporary$")
			cmd.Env = append(os.Environ(), temporaryEnv+"="+how, "TMPDIR="+tmp)
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := stdout.Read(make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
			for how == "removes" {
				if files, _ := filepath.Glob(filepath.Join(tmp, "stemma-*", "*")); len(files) < manyFiles {
					break
				}
			}
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if how == "holds" { // this one is the holder's, and there is nothing to see of it
				time.Sleep(300 * time.Millisecond)
				if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
					t.Fatal(err)
				}
				if _, err := stdout.Read(make([]byte, 8)); err != nil {
					t.Fatalf("%v: it has ended although another one looks after signals", s)
				}
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait() // it was killed
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || status.Signal() != s {
				t.Errorf("%s, %v: it ended with %v", how, s, cmd.ProcessState)
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "stemma-*")); len(left) > 0 {
				t.Errorf("%s, %v: left behind: %v", how, s, left)
			}
		}
	}
}

// useTemporaries is the process that is ended.
func useTemporaries(t *testing.T, how string) {
	if how == "removes" {
		d, err := MakeTemporary("stemma-test")
		if err != nil {
			t.Fatal(err)
		}
		for i := range manyFiles {
			if err := os.WriteFile(filepath.Join(d.Path, fmt.Sprint(i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Println("started")
		if err := d.RemoveAll(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
	}
	for i := range 3 {
		d, err := MakeTemporary("stemma-test")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.Path, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 || how == "done" {
			if err := d.RemoveAll(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if how != "holds" {
		fmt.Println("started")
		select {}
	}
	next := make(chan os.Signal, 1)
	signal.Notify(next, syscall.SIGUSR1)
	release := HoldSignals()
	fmt.Println("started")
	<-next
	release()
	fmt.Println("released")
	time.Sleep(time.Minute)
}
