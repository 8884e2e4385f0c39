package lab

import (
	"os"
	"slices"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/program"
)

func TestLab(t *testing.T) {
	l, err := Open("labtest")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.Stemma); err != nil {
		t.Error(err)
	}
	own, err := l.Programs("", []string{"site", "gofmt"})
	if err != nil || !slices.Equal(program.Names(own), []string{"site", "gofmt"}) {
		t.Errorf("have %v, %v", program.Names(own), err)
	}
	if _, err := l.Programs(t.TempDir(), []string{"gofmt"}); err == nil {
		t.Error("another directory has a program of the standard library")
	}
	other, err := In(l.Work, "mine")
	if err != nil || other.Close() != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.Work); err != nil {
		t.Errorf("In does not leave the directory: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.Work); err == nil {
		t.Error("Close leaves the directory")
	}
}

func TestNames(t *testing.T) {
	if have := Names("a,b"); !slices.Equal(have, []string{"a", "b"}) || len(Names("")) > 0 {
		t.Errorf("have %q, %q", have, Names(""))
	}
}
