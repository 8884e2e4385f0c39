package goroot

import (
	"strings"
	"testing"
)

const hookSource = `package p // the package

import (
	"fmt"
	"unsafe" // for size
)

type g struct {
	m         *m // current m
	sched struct {
		pc uintptr
	}
}

type m interface{ run() }

var x, y int

func (p *g) start(n int) {
	if n > 0 {
		again() // once
	}
	again()
}

func start(n int) (err error) {
	x := one()
	if x := two(); x > 0 { // positive
		y = x
	} else {
		y = 1
	}
loop:
	for {
		select {
		case <-c:
			break loop
		default:
		}
		switch {
		case n > 1,
			n < 0:
			many(n,
				n)
		}
		twice()
		twice()
	}
	systemstack(func() {
		inner()
	})
	return
}
`

func TestApplyHooks(t *testing.T) {
	for _, tt := range []struct {
		name string
		hook Hook
		want string // in the result, as one line
	}{
		{"before", Hook{Decl: "func start", Anchor: "x := one()", Lines: []string{"a()", "b()"}},
			"\ta(); b(); x := one()\n"},
		{"after", Hook{Decl: "func start", Anchor: "x  :=  one()", Where: After, Lines: []string{"a()"}},
			"\tx := one(); a()\n"},
		{"in method", Hook{Decl: "func (p *g) start", Anchor: "if n > 0 {", Lines: []string{"a()"}},
			"\ta(); if n > 0 {\n"},
		{"inside if", Hook{Decl: "func start", Anchor: "if x := two(); x > 0 {", Where: Inside,
			Lines: []string{"a()"}}, "x > 0 { a(); // positive\n"},
		{"inside case", Hook{Decl: "func start", Anchor: "case n > 1,", Where: Inside, Lines: []string{"a()"}},
			"n < 0: a();\n"},
		{"inside select", Hook{Decl: "func start", Anchor: "default:", Where: Inside, Lines: []string{"a()"}},
			"default: a();\n"},
		{"after several lines", Hook{Decl: "func start", Anchor: "many(n,", Where: After, Lines: []string{"a()"}},
			"\t\t\t\tn); a()\n"},
		{"inside literal",
			Hook{Decl: "func start", Anchor: "systemstack(func() {", Where: Inside, Lines: []string{"a()"}},
			"systemstack(func() { a();\n"},
		{"in literal", Hook{Decl: "func start", Anchor: "inner()", Where: After, Lines: []string{"a()"}},
			"\t\tinner(); a()\n"},
		{"inside labelled loop", Hook{Decl: "func start", Anchor: "loop:", Where: Inside, Lines: []string{"a()"}},
			"\tfor { a();\n"},
		{"before return",
			Hook{Decl: "func start", Anchor: "return", Lines: []string{"if n > 0 {", "return nil", "}"}},
			"\tif n > 0 { return nil; }; return\n"},
		{"continued line", Hook{Decl: "func start", Anchor: "return", Lines: []string{"a(n,", "n)"}},
			"\ta(n, n); return\n"},
		{"start of function", Hook{Decl: "func start", Where: Inside, Lines: []string{"a()"}}, "(err error) { a();\n"},
		{"field after", Hook{Decl: "type g", Anchor: "m *m", Where: After, Lines: []string{"ctx uintptr"}},
			"\tm         *m; ctx uintptr // current m\n"},
		{"field before", Hook{Decl: "type g", Anchor: "sched struct {", Lines: []string{"ctx uintptr"}},
			"\tctx uintptr; sched struct {\n"},
		{"nested field", Hook{Decl: "type g", Anchor: "pc uintptr", Lines: []string{"ctx uintptr"}},
			"\t\tctx uintptr; pc uintptr\n"},
		{"start of struct", Hook{Decl: "type g", Where: Inside, Lines: []string{"ctx uintptr"}},
			"struct { ctx uintptr;\n"},
		{"method", Hook{Decl: "type m", Anchor: "run()", Where: After, Lines: []string{"stop()"}},
			"{ run(); stop() }\n"},
		{"variable", Hook{Decl: "var y", Where: After, Lines: []string{"var z int"}}, "var x, y int; var z int\n"},
		{"import", Hook{Decl: "import", Lines: []string{`"os"`}}, "package p; import \"os\" // the package\n"},
		{"import beside", Hook{Decl: "import", Anchor: `"unsafe"`, Where: After, Lines: []string{`"os"`}},
			"\t\"unsafe\"; \"os\" // for size\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := applyHooks("p.go", []byte(hookSource), []Hook{tt.hook})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(out), tt.want) {
				t.Errorf("%q is missing in\n%s", tt.want, out)
			}
			if have, want := strings.Count(string(out), "\n"), strings.Count(hookSource, "\n"); have != want {
				t.Errorf("the number of lines changed (have %d, want %d)", have, want)
			}
		})
	}
}

func TestApplyHooksErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		hook Hook
		want string
	}{
		{"no anchor", Hook{Decl: "func start", Anchor: "gdestroy(gp)", Lines: []string{"a()"}},
			`hook start: anchor "gdestroy(gp)" matched 0 times in p.go, want 1`},
		{"two anchors", Hook{Decl: "func start", Anchor: "twice()", Lines: []string{"a()"}},
			`hook start: anchor "twice()" matched 2 times in p.go, want 1`},
		{"anchor elsewhere", Hook{Decl: "func start", Anchor: "again()", Lines: []string{"a()"}}, `matched 0 times`},
		{"init statement", Hook{Decl: "func start", Anchor: "x := two()", Lines: []string{"a()"}}, `matched 0 times`},
		{"no decl", Hook{Decl: "func (g) start", Anchor: "x", Lines: []string{"a()"}},
			`hook (g) start: func (g) start matched 0 times in p.go, want 1`},
		{"no block", Hook{Decl: "func start", Anchor: "return", Where: Inside, Lines: []string{"a()"}},
			"opens no block"},
		{"no lines", Hook{Decl: "func start", Anchor: "return"}, "have 0, want 1 to 3"},
		{"four lines", Hook{Decl: "func start", Anchor: "return", Lines: []string{"a()", "a()", "a()", "a()"}},
			"have 4, want 1 to 3"},
		{"comment", Hook{Decl: "func start", Anchor: "return", Lines: []string{"a() // why"}}, "holds a comment"},
		{"two in one", Hook{Decl: "func start", Anchor: "return", Lines: []string{"a()\nb()"}},
			"holds a comment or line end"},
		{"syntax", Hook{Decl: "func start", Anchor: "return", Lines: []string{"if {"}}, "with hooks: p.go:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := applyHooks("p.go", []byte(hookSource), []Hook{tt.hook})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("have error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// A hook of several functions is inserted in each, and has one place in each.
func TestApplyHooksAll(t *testing.T) {
	const src = "package p\n\nfunc mallocA() {\n\tlast()\n}\n\nfunc mallocB() {\n\tfirst()\n\tlast()\n}\n\n" +
		"func free() {\n\tlast()\n}\n"
	hook := Hook{Decl: "func malloc*", Anchor: "last()", Lines: []string{"a()"}}
	out, err := applyHooks("p.go", []byte(src), []Hook{hook})
	want := strings.Replace(src, "\tlast()", "\ta(); last()", 2)
	if err != nil || string(out) != want {
		t.Errorf("have %v and\n%s\nwant\n%s", err, out, want)
	}
	for want, change := range map[string]func(*Hook){
		`hook malloc*: mallocA: anchor "first()" matched 0 times in p.go, want 1`: func(k *Hook) { k.Anchor = "first()" },
		`hook calloc*: func calloc* matched 0 times in p.go, want 1`:              func(k *Hook) { k.Decl = "func calloc*" },
	} {
		k := hook
		change(&k)
		if _, err := applyHooks("p.go", []byte(src), []Hook{k}); err == nil || err.Error() != want {
			t.Errorf("have %v, want %s", err, want)
		}
	}
}

// Hooks in one place keep the order of the table.
func TestApplyHooksOrder(t *testing.T) {
	hook := func(line string) Hook { return Hook{Decl: "func start", Anchor: "return", Lines: []string{line}} }
	out, err := applyHooks("p.go", []byte(hookSource), []Hook{hook("b()"), hook("a()"), hook("c()")})
	if err != nil {
		t.Fatal(err)
	}
	if want := "\tb(); a(); c(); return\n"; !strings.Contains(string(out), want) {
		t.Errorf("%q is missing in\n%s", want, out)
	}
}
