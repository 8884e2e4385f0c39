package base

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
)

// OnOff is the value of a flag that is spelled on or off.
type OnOff bool

// String is for the flag package, which prints defaults with it.
func (v *OnOff) String() string {
	if *v {
		return "on"
	}
	return "off"
}

// Set refuses the spellings true and false, which a boolean flag would take: a
// command line that works shall have one form.
func (v *OnOff) Set(s string) error {
	if s != "on" && s != "off" {
		return errors.New("want on or off")
	}
	*v = s == "on"
	return nil
}

// Choices returns the values, for help and completion.
func (v *OnOff) Choices() []string { return []string{"on", "off"} }

// ChoiceVar declares a flag whose values can be listed. Other values are for the command to refuse: it knows what to
// say.
func ChoiceVar(fs *flag.FlagSet, p *string, name, value, usage string, choices func() []string) {
	*p = value
	fs.Var(&choice{p, choices}, name, usage)
}

// Of returns a list of values for ChoiceVar.
func Of(values ...string) func() []string { return func() []string { return values } }

// A choice is the value of such a flag.
type choice struct {
	p       *string
	choices func() []string
}

func (c *choice) String() string {
	if c.p == nil { // as package flag makes one, to compare with
		return ""
	}
	return *c.p
}

func (c *choice) Set(s string) error { *c.p = s; return nil }

// Choices returns the values, for help and completion.
func (c *choice) Choices() []string { return c.choices() }

// A List is a flag that may be given several times.
type List []string

func (l *List) String() string { return strings.Join(*l, ",") }

func (l *List) Set(s string) error { *l = append(*l, s); return nil }

// Repeats is the value of a flag that sets how often to run, at least twice; 0 if it is not given.
type Repeats int

// maxRepeats is more runs than anybody waits for.
const maxRepeats = 1000

func (r *Repeats) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.Itoa(int(*r))
}

func (r *Repeats) Set(s string) error {
	if s == "true" {
		s = "2"
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 2 || n > maxRepeats {
		return fmt.Errorf("want the number of runs to compare, 2 to %d", maxRepeats)
	}
	*r = Repeats(n)
	return nil
}

// IsBoolFlag lets the value be left out.
func (r *Repeats) IsBoolFlag() bool { return true }

// Deterministic is the value of a flag that makes runs repeat, as STEMMA_DETERMINISTIC has it; "" is not at all.
type Deterministic string

func (d *Deterministic) String() string { return string(*d) }

func (d *Deterministic) Set(s string) error {
	values := map[string]Deterministic{"true": "1", "1": "1", "clock": "clock", "false": "", "0": ""}
	v, ok := values[s]
	if !ok {
		return errors.New("want no value, or clock for a fixed time of day as well")
	}
	*d = v
	return nil
}

// IsBoolFlag lets the value be left out.
func (d *Deterministic) IsBoolFlag() bool { return true }

// A FlagSet makes a flag.FlagSet what toolchain.ParseArgs asks for the flags of stemma.
type FlagSet struct{ *flag.FlagSet }

// Has tells about a flag of stemma; all others are for the go command.
func (fs FlagSet) Has(name string) (takesValue, ok bool) {
	f := fs.Lookup(name)
	if f == nil {
		return false, false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag(), true
}

// Set sets a flag of stemma, and says what it takes if that is not value.
func (fs FlagSet) Set(name, value string) error {
	if err := fs.FlagSet.Set(name, value); err != nil {
		return wanted(fs.FlagSet, name, err)
	}
	return nil
}
