package tree

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/page"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// chains are what leads to the handler of program middleware, outermost first, without the adapter in between.
var chains = []string{
	"main.plain main.logger.func1 main.auth.func1 main.limit.func1 main.handler",
	"main.likeChi main.serve main.(*mux).ServeHTTP main.logger.func1 main.auth.func1 main.(*mux).routeHTTP " +
		"main.(*chainHandler).ServeHTTP main.limit.func1 main.handler",
	"main.likeGorilla main.serve main.(*router).ServeHTTP main.logger.func1 main.auth.func1 main.limit.func1 " +
		"main.handler",
	"main.passing main.first.func1 main.second.func1 main.third.func1 main.handler",
	"main.structs main.(*around).ServeHTTP main.beside.ServeHTTP main.(*under).ServeHTTP main.handler",
	"main.mixed main.first.func1 main.(*around).ServeHTTP main.second.func1 main.beside.ServeHTTP main.third.func1 " +
		"main.(*under).ServeHTTP main.logger.func1 main.handler",
}

// TestMiddlewares looks for each middleware in its place, and for the marks of recursion that was folded, in the forms
// that people and tools get.
func TestMiddlewares(t *testing.T) {
	p := e2e.Run(t, e2e.Build(t, "middleware")).Read(t)
	for name, stacks := range map[string]func(*testing.T, *profile.Profile) [][]string{
		"report": reported, "pprof": exported, "view": viewed,
	} {
		t.Run(name, func(t *testing.T) {
			var have []string
			for _, s := range stacks(t, p) {
				s = slices.DeleteFunc(s, func(f string) bool {
					return strings.Contains(f, "http.HandlerFunc.ServeHTTP") ||
						slices.Contains([]string{"main.main", "[main]", "[root]", "all"}, f)
				})
				have = append(have, strings.Join(s, " "))
			}
			for _, want := range slices.Concat(chains, []string{
				"main.deep main.countdown (recursive) main.countdown (folded)",
				"main.mutual main.ping (recursive) main.pong main.ping (folded)"}) {
				if !slices.Contains(have, want) {
					t.Errorf("no stack %s", want)
				}
			}
		})
	}
}

// reported returns the stacks that a report prints as JSON, outermost first.
func reported(t *testing.T, p *profile.Profile) (stacks [][]string) {
	var out bytes.Buffer
	if err := report.Write(&out, &record.Record{Profile: p}, &report.Options{JSON: true, Contexts: true}); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Contexts []struct{ Stack []report.JsonFrame }
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	for _, c := range answer.Contexts {
		var s []string
		for _, f := range slices.Backward(c.Stack) {
			s = append(s, marked(f.Func, f.Fold))
		}
		stacks = append(stacks, s)
	}
	return stacks
}

// marked returns a function with its mark.
func marked(name, mark string) string {
	if mark != "" {
		name += " (" + mark + ")"
	}
	return name
}

// exported returns the stacks of a file for pprof, with the functions marked that labels name.
func exported(t *testing.T, p *profile.Profile) (stacks [][]string) {
	var out bytes.Buffer
	if err := export.Write(&out, "pprof", p, cct.New(p)); err != nil {
		t.Fatal(err)
	}
	file, err := pprof.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range file.Sample {
		var s []string
		for _, l := range slices.Backward(sample.Location) {
			for _, line := range slices.Backward(l.Line) {
				s = append(s, line.Function.Name)
			}
		}
		for _, mark := range []string{"folded", "recursive"} {
			for _, name := range sample.Label[mark] {
				at := slices.Index(s, name)
				if mark == "folded" {
					at = len(s) - 1
				}
				s[at] = marked(s[at], mark)
			}
		}
		stacks = append(stacks, s)
	}
	return stacks
}

// viewed returns the paths to the boxes of a page.
func viewed(t *testing.T, p *profile.Profile) (stacks [][]string) {
	v, err := page.New(page.Options{Load: func() (*page.Data, error) {
		return &page.Data{Title: "middleware", Record: &record.Record{Profile: p}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := v.Answer("flame", page.Args{"least": {"0"}, "limit": {"100000"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Boxes []struct {
			Up, Fn int
			Mark   string
		}
		Funcs []struct{ Name string }
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		t.Fatal(err)
	}
	for _, box := range answer.Boxes {
		s := []string{marked(answer.Funcs[box.Fn].Name, box.Mark)}
		if box.Up >= 0 {
			s = append(slices.Clone(stacks[box.Up]), s...)
		}
		stacks = append(stacks, s)
	}
	return stacks
}
