package main

import (
	"reflect"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/suite"
)

func TestExceptionsFile(t *testing.T) {
	if _, err := suite.ParseExceptions(exceptionsText); err != nil {
		t.Error(err)
	}
}

func TestParseCase(t *testing.T) {
	for src, want := range map[string]*testCase{
		"// run\n": {action: "run"},
		"//go:build cgo\n\n// run -gcflags='all=-N -l' -goexperiment x a b\n": {action: "run",
			flags: []string{"-gcflags=all=-N -l"}, env: []string{"GOEXPERIMENT=x"}, args: []string{"a", "b"}},
		"// rundir -s\n":       {action: "rundir", single: true},
		"// run cmplx1.go a":   {action: "run", more: []string{"cmplx1.go"}, args: []string{"a"}},
		"// errorcheck\n":      nil,
		"package p\n// run\n":  nil,
		"// Copyright\n// run": nil,
	} {
		if have := parseCase("", "", []byte(src)); !reflect.DeepEqual(have, want) {
			t.Errorf("%q: have %+v, want %+v", src, have, want)
		}
	}
}
