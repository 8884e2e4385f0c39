package base

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/pty"
)

// processEnv makes a run of this test binary stand for stemma with a child,
// which it runs through Run, or for that child.
const processEnv = "STEMMA_TEST_PROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(processEnv) {
	case "child":
		os.Exit(patient())
	case "stemma":
		code, err := Run(&Env{os.Stdin, os.Stdout, os.Stderr}, exec.Command("env", processEnv+"=child", os.Args[0]))
		if err != nil {
			fmt.Println(err)
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// patient is the child: it counts SIGINT, and ends with that number at
// SIGTERM.
func patient() int {
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	fmt.Println("ready")
	n := 0
	for s := range signals {
		if s == syscall.SIGTERM {
			break
		}
		n++
		fmt.Println("got", n)
	}
	return n
}

// startProcess starts stemma with its child, and waits until that is ready.
func startProcess(t *testing.T, attr *syscall.SysProcAttr, tty *os.File) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), processEnv+"=stemma")
	cmd.SysProcAttr, cmd.Stdin = attr, tty
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	lines := bufio.NewScanner(out)
	expect(t, lines, "ready")
	return cmd, lines
}

func expect(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	if !lines.Scan() || lines.Text() != want {
		t.Fatalf("have %q (%v), want %q", lines.Text(), lines.Err(), want)
	}
}

func checkExit(t *testing.T, cmd *exec.Cmd, want int) {
	t.Helper()
	_ = cmd.Wait() // the exit code is looked at
	if have := cmd.ProcessState.ExitCode(); have != want {
		t.Errorf("have exit code %d, want %d", have, want)
	}
}

// Signals that are sent to stemma alone reach the child, and stemma waits for it.
func TestRunForwards(t *testing.T) {
	cmd, lines := startProcess(t, &syscall.SysProcAttr{Setsid: true}, nil)
	for i := range 2 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		expect(t, lines, fmt.Sprint("got ", i+1))
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	checkExit(t, cmd, 2)
}

// A key that interrupts goes to the whole group: the child must get it once.
func TestRunTerminal(t *testing.T) {
	ptm, pts := pty.Open(t)
	cmd, lines := startProcess(t, &syscall.SysProcAttr{Setsid: true, Setctty: true}, pts)
	for i := range 3 {
		if _, err := ptm.WriteString("\x03"); err != nil {
			t.Fatal(err)
		}
		expect(t, lines, fmt.Sprint("got ", i+1))
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	checkExit(t, cmd, 3)
}

func TestRunExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -15 $$": 143} {
		code, err := Run(&Env{strings.NewReader(""), os.Stdout, os.Stderr}, exec.Command("sh", "-c", script))
		if err != nil || code != want {
			t.Errorf("%s: have %d, %v, want %d", script, code, err, want)
		}
	}
	if _, err := Run(&Env{}, exec.Command("/no/such/program")); err == nil {
		t.Error("a program that does not exist: no error")
	}
}
