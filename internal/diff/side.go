package diff

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// FromProfile returns the side that a profile is.
func FromProfile(name string, p *profile.Profile) *Side {
	s := &Side{Name: name, Exact: cct.ValuesOf(p, false), Sampled: cct.ValuesOf(p, true), Calls: cct.Calls(p),
		Contexts: true, Losses: p.Lost()}
	s.takeVarying()
	for _, proc := range p.Processes {
		s.Go = append(s.Go, profile.Printable(proc.GoVersion))
		s.Flags = append(s.Flags, "engine="+profile.Printable(proc.Engine))
		recursion := "recursion=folded"
		if proc.Full {
			recursion = "recursion=full"
		}
		s.Flags = append(s.Flags, recursion)
		if len(proc.Args) > 0 {
			s.Programs = append(s.Programs, profile.Printable(path.Base(strings.ReplaceAll(proc.Args[0], `\`, "/"))))
		}
	}
	if inlined := inlining(p); inlined != "" {
		s.Flags = append(s.Flags, inlined)
	}
	for _, list := range []*[]string{&s.Go, &s.Flags, &s.Programs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s
}

// inlining reports whether inlined calls were counted, if there are any.
func inlining(p *profile.Profile) string {
	any := false
	for i := range p.Funcs {
		for _, in := range p.Funcs[i].Inlined {
			if in.Counter != profile.None {
				return "inlined=on"
			}
			any = true
		}
	}
	if any {
		return "inlined=off"
	}
	return ""
}

// complete returns an error if something of a value is missing.
func (s *Side) complete(t profile.Metric) error {
	for _, l := range s.Losses {
		if !l.Spoils(t) {
			continue
		}
		if metric, ok := l.Without(); ok {
			return fmt.Errorf("%s is a sum, and some of its records have no %s, so that it is too low there: "+
				"they have other -metrics, or ended before they had counted it; leave those out, with -store by "+
				"-service", s.Name, metric)
		}
		switch l.Kind {
		case profile.LossFaults:
			return fmt.Errorf("%s is not exact, so that %s may be too high there: inlined calls behind faults at "+
				"addresses that are not nil (%d of them) may be counted; let the run make none, see "+
				"debug.SetPanicOnFault", s.Name, t.Name, l.Count)
		case profile.LossNegative: // the record does not say whose
			return fmt.Errorf("%s is not complete, so that %s may be too low there: numbers below 0 were not added to "+
				"metrics of the program (%d of them), which only grow; use two metrics for what comes and goes",
				s.Name, t.Name, l.Count)
		}
		return fmt.Errorf("%s is not complete, so that %s may be too low there: it lacks %s (%d); record it "+
			"again, 'stemma info' says more", s.Name, t.Name, profile.Printable(l.Kind), l.Count)
	}
	return nil
}

// checkSides returns an error if the sides do not belong together. Two records may
// be of different releases of Go, which is noted; a baseline holds for one only, because what
// the standard library and the compiler do belongs to the counts.
func (d *Diff) checkSides(force bool) error {
	base, new := d.Sides[0], d.Sides[1]
	what := ""
	switch {
	case !slices.Equal(base.Go, new.Go):
		what = fmt.Sprintf("%s is of %s, %s of %s", base.Name, list(base.Go), new.Name, list(new.Go))
	case differ(base.Flags, new.Flags):
		what = fmt.Sprintf("%s was recorded with %s, %s with %s", base.Name, list(base.Flags), new.Name,
			list(new.Flags))
	}
	if what != "" && (base.Baseline || new.Baseline) && !force {
		return fmt.Errorf("%s: counts of such builds differ for that alone; make the baseline again with 'stemma "+
			"baseline', or compare anyway with -force", what)
	}
	if what != "" {
		d.Notes = append(d.Notes, what+": some differences are due to that")
	}
	d.notePrograms()
	if a, b := base.counted(), new.counted(); a != b && a != "" && b != "" && !force {
		d.apart = fmt.Errorf("%s was recorded with %s, and %s with %s: calls that are inlined count on one side only; "+
			"record both with the same flags, or compare anyway with -force", base.Name, a, new.Name, b)
	}
	if !force && d.strangers() {
		return fmt.Errorf("%s is of %s and %s of %s, which have no function of their own in common; name two records "+
			"of one program, or compare anyway with -force",
			base.Name, list(base.Programs), new.Name, list(new.Programs))
	}
	return nil
}

// notePrograms notes which programs only one of two sides has that have others in common: the tests of a package that
// left no record, say. What only they call has not become less.
func (d *Diff) notePrograms() {
	const most = 10
	for i, s := range d.Sides {
		other := d.Sides[1-i]
		only := slices.DeleteFunc(slices.Clone(s.Programs),
			func(p string) bool { return slices.Contains(other.Programs, p) })
		if len(only) == 0 || len(only) == len(s.Programs) {
			continue
		}
		more := ""
		if len(only) > most {
			more, only = fmt.Sprintf(" and %d more", len(only)-most), only[:most]
		}
		d.Notes = append(d.Notes,
			fmt.Sprintf("%s has no record of %s%s, as %s has", other.Name, list(only), more, s.Name))
	}
}

// counted returns the flag that says whether inlined calls were counted, "" if there are none.
func (s *Side) counted() string {
	i := slices.IndexFunc(s.Flags, func(f string) bool { return strings.HasPrefix(f, "inlined=") })
	if i < 0 {
		return ""
	}
	return s.Flags[i]
}

// differ compares flags. Whether inlined calls were counted cannot be told of a program that
// has none, so that only two different answers differ.
func differ(a, b []string) bool {
	drop := func(flags, other []string) []string {
		return slices.DeleteFunc(slices.Clone(flags), func(f string) bool {
			return strings.HasPrefix(f, "inlined=") &&
				!slices.ContainsFunc(other, func(o string) bool { return strings.HasPrefix(o, "inlined=") })
		})
	}
	return !slices.Equal(drop(a, b), drop(b, a))
}

func list(words []string) string {
	if len(words) == 0 {
		return "unknown"
	}
	return strings.Join(words, ", ")
}

// strangers reports whether the sides are of different programs: these have other names, and
// no function in common but those of the standard library, main.main and initializers.
func (d *Diff) strangers() bool {
	if slices.ContainsFunc(d.Sides[0].Programs,
		func(p string) bool { return slices.Contains(d.Sides[1].Programs, p) }) {
		return false
	}
	own := d.Sides[0].own()
	for name := range d.Sides[1].own() {
		if own[name] {
			return false
		}
	}
	return true
}

// own returns the names of functions that tell a program from others.
func (s *Side) own() map[string]bool {
	names := make(map[string]bool)
	for _, v := range []*cct.Values{s.Exact, s.Sampled} {
		if v == nil {
			continue
		}
		for _, f := range v.Funcs {
			first, _, _ := strings.Cut(f.Name, "/")
			inMain := strings.HasPrefix(f.Name, "main.") && f.Name != "main.main" &&
				!strings.HasPrefix(f.Name, "main.init")
			if inMain || first != f.Name && strings.Contains(first, ".") {
				names[f.Name] = true
			}
		}
	}
	return names
}
