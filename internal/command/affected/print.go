package affected

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// Load reads the tests of records. Records of other programs, and those without calls, are left out.
func Load(paths []string) ([]Suite, error) {
	r, err := store.Load(paths)
	if err != nil {
		return nil, err
	}
	var lists [][]Suite
	uncounted := 0
	for _, p := range r.Profiles {
		if p.IDs != nil || !p.Has(profile.Calls) {
			uncounted++
			continue
		}
		lists = append(lists, Of(p.Profile))
	}
	suites := Union(lists...)
	switch {
	case len(suites) > 0:
		return suites, nil
	case uncounted > 0:
		return nil, fmt.Errorf("no test in %s; %s of samples or context IDs and not of all calls; run the "+
			"tests with %s", humanize.Plural(len(r.Profiles), "record"), humanize.Plural(uncounted, "is", "are"),
			engine.Giving(engine.Counts))
	}
	return nil, fmt.Errorf("no test in %s; want records that 'stemma test' made",
		humanize.Plural(len(r.Profiles), "record"))
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "\t")
	return enc.Encode(v)
}

// PrintSuites lists tests with what they reached.
func PrintSuites(w io.Writer, suites []Suite, asJSON bool) error {
	if asJSON {
		return printJSON(w, suites)
	}
	for _, s := range suites {
		fmt.Fprintf(w, "%s: %s; %s reached by any test\n", s.Package, humanize.Plural(len(s.Tests), "test"),
			humanize.Plural(len(s.Shared), "function"))
		for _, t := range s.Tests {
			fmt.Fprintf(w, "%10s  %s\n", humanize.Commas(uint64(len(t.Functions))), t.Name)
		}
	}
	return nil
}

// JSONForms are the values that -json prints, by the names of their schemas in docs/reference/schemas.
var JSONForms = map[string]any{"affected": []Suite{}, "affected-changed": jsonAffected{}}

// jsonAffected is the JSON form of the tests that changes can affect.
type jsonAffected struct {
	Changes  []Change   `json:"changes"`
	Affected []Affected `json:"affected"`
	Unknown  []string   `json:"unknown"` // files whose readers are not known
}

// PrintAffected lists the tests that the changes of a range of git's can affect, and how to run them: what it prints
// is for a shell, whatever files and packages are called.
func PrintAffected(w io.Writer, suites []Suite, versions string, asJSON bool) error {
	r, err := Open(versions)
	if err != nil {
		return err
	}
	modules, err := Modules(r)
	if err != nil {
		return err
	}
	changes, err := Changes(r, modules)
	if err != nil {
		return err
	}
	affected, unknown := Select(modules, suites, changes)
	if asJSON {
		return printJSON(w, jsonAffected{append([]Change{}, changes...), append([]Affected{}, affected...),
			append([]string{}, unknown...)})
	}
	if len(affected) == 0 {
		fmt.Fprintf(w, "# %s: no test that was recorded can be affected\n", humanize.Plural(len(changes), "change"))
	}
	for _, a := range affected {
		fmt.Fprintln(w, a.line())
	}
	for _, file := range unknown {
		fmt.Fprintf(w, "# not known who reads %s\n", profile.Printable(file))
	}
	return nil
}

// line returns a command for a shell, with a comment if there is something to explain.
func (a *Affected) line() string {
	var b strings.Builder
	for _, word := range append(slices.Clone(a.Env), a.Command...) {
		b.WriteString(base.ShellWord(word))
		b.WriteByte(' ')
	}
	switch {
	case a.All:
		return b.String() + " # all: " + profile.Printable(a.Why)
	case len(a.Tests) == 0:
		return b.String() + " # builds it: none of its tests is affected"
	}
	return strings.TrimSuffix(b.String(), " ")
}
