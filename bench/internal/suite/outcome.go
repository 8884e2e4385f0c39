// Package suite runs the test suites of packages with stemma and sorts what fails: accidents, what
// fails in plain Go as well, listed exceptions, and what should not fail.
package suite

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// outcome is what one go test command has said.
type outcome struct {
	passed bool              // the package and all its tests
	ok     map[string]bool   // top-level tests that passed
	failed map[string]string // output by failed top-level test; "" if only the package failed
}

func failedOutcome(text string) *outcome {
	return &outcome{failed: map[string]string{"": text}}
}

// note adds text to the output of the package, if that is what has failed.
func (o *outcome) note(text string) {
	if before, ok := o.failed[""]; ok {
		o.failed[""] = before + text
	}
}

// names returns the failed tests in order.
func names(failed map[string]string) []string { return slices.Sorted(maps.Keys(failed)) }

// event is a line of go test -json.
type event struct {
	Action string
	Test   string
	Output string
}

// parseEvents reads what go test -json has printed about one package. Lines
// that are no events count as output of the package.
func parseEvents(out []byte) *outcome {
	o := &outcome{ok: make(map[string]bool), failed: make(map[string]string)}
	outputs := make(map[string]*strings.Builder)
	output := func(test string) *strings.Builder {
		if outputs[test] == nil {
			outputs[test] = new(strings.Builder)
		}
		return outputs[test]
	}
	packageFailed := false
	for line := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			output("").Write(line)
			continue
		}
		test, _, _ := strings.Cut(e.Test, "/")
		output(test).WriteString(e.Output) // also that of a build
		switch {
		case e.Action == "fail" && test != "":
			o.failed[test] = ""
		case e.Action == "fail" || e.Action == "build-fail":
			packageFailed = true
		case e.Action == "pass" && e.Test != "":
			o.ok[e.Test] = true
		case (e.Action == "pass" || e.Action == "skip") && test == "":
			o.passed = true
		}
	}
	for test := range o.failed {
		o.failed[test] = output(test).String()
	}
	if (packageFailed || !o.passed) && len(o.failed) == 0 {
		o.failed[""] = output("").String()
	}
	o.passed = len(o.failed) == 0
	return o
}
