package toolchain

import (
	"maps"
	"strings"
	"testing"
)

func TestOverlayMerge(t *testing.T) {
	ours := overlay{map[string]string{"/go/src/runtime/proc.go": "/cache/proc.go"}}
	user := overlay{map[string]string{
		"main.go":                 "gen/main.go",
		"/abs/old.go":             "",
		"/go/src/runtime/mgc.go":  "/tmp/mgc.go",
		"/go/src/./runtime/mm.go": "mm.go",
	}}
	merged, err := ours.merge(user, "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/go/src/runtime/proc.go": "/cache/proc.go",
		"/home/u/main.go":         "/home/u/gen/main.go",
		"/abs/old.go":             "",
		"/go/src/runtime/mgc.go":  "/tmp/mgc.go",
		"/go/src/runtime/mm.go":   "/home/u/mm.go",
	}
	if !maps.Equal(merged.Replace, want) {
		t.Errorf("have %v\nwant %v", merged.Replace, want)
	}
	if len(ours.Replace) != 1 {
		t.Error("merge changed its receiver")
	}
	_, err = ours.merge(overlay{map[string]string{"/go/src/runtime//proc.go": "x"}}, "/")
	if err == nil || !strings.Contains(err.Error(), "replaces /go/src/runtime/proc.go, which stemma also changes") {
		t.Errorf("both replace proc.go: have error %v", err)
	}
}
