package toolchain

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
)

// valueFlags are the flags of go build, run and test that take a value, which
// may follow as an argument of its own. All others are boolean, or unknown, and
// then go build reports it.
var valueFlags = wordSet(`
	C o p asmflags compiler buildmode gcflags gccgoflags mod modfile overlay
	installsuffix ldflags pgo pkgdir tags toolexec exec debug-actiongraph
	debug-runtime-trace debug-trace covermode coverpkg coverprofile
	vet bench benchtime blockprofile blockprofilerate count cpu cpuprofile fuzz
	list memprofile memprofilerate mutexprofile mutexprofilefraction outputdir
	parallel run skip timeout fuzztime fuzzminimizetime trace shuffle`)

// boolFlags are those that take none.
var boolFlags = wordSet(`
	a n x v i race msan asan cover work buildvcs linkshared modcacherw trimpath json c benchmem
	failfast fullpath short artifacts args h help`)

// wordSet returns the set of the words in s, which white space separates.
func wordSet(s string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// An arg is one flag of the go command, or one other argument.
// What stemma does not look at is passed on as it was written, in words: the go
// command then says itself what it thinks of it.
type arg struct {
	flag  string   // name without dashes and "test."; "" if not a flag
	value string   // of a flag; "true" if it has none
	words []string // as written
}

// Args are the arguments of a go command, taken apart.
// They keep the order of the command line, because the last of several flags of
// one name counts. The zero value has no arguments.
type Args struct {
	args []arg
	rest []string // what follows the flags: packages, arguments of the program
}

// ParseArgs takes the arguments that follow "go VERB" apart. Each flag that is
// not go's is offered to own, with its value, and left out if own takes it.
// The error is flag.ErrHelp if there is -h; others are mistakes of usage.
// Of test, packages may stand between the flags, as go test has it; of other
// verbs the first argument that is no flag ends them. words is not changed, but
// the result refers to it.
func ParseArgs(verb string, words []string, own OwnFlags) (*Args, error) {
	a := new(Args)
	for len(words) > 0 {
		name, isFlag := flagName(words[0])
		if !isFlag {
			if verb != "test" {
				break
			}
			a.args = append(a.args, arg{words: words[:1]})
			words = words[1:]
			continue
		}
		if name == "" || verb == "test" && name == "args" {
			break // the flag terminator: all that follows is the program's
		}
		if name == "h" || name == "help" {
			return nil, flag.ErrHelp
		}
		n, err := a.parseFlag(verb, name, words, own)
		if err != nil {
			return nil, err
		}
		words = words[n:]
	}
	a.rest = words
	return a, nil
}

// OwnFlags are the flags of a stemma command beside those of go.
// Has reports whether there is a flag of that name, and whether it takes a value.
// Set gives it one, "true" if it takes none; an error is a mistake of usage.
type OwnFlags interface {
	Has(name string) (takesValue, ok bool)
	Set(name, value string) error
}

// flagName returns the name of the flag that a word begins, without dashes.
func flagName(word string) (string, bool) {
	if len(word) < 2 || word[0] != '-' {
		return "", false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
	return name, true
}

// parseFlag takes one flag from words and returns how many words it had.
// A value is behind "=" or, if the flag takes one, the next word.
func (a *Args) parseFlag(verb, name string, words []string, own OwnFlags) (int, error) {
	takesValue, isOwn := own.Has(name)
	if !isOwn {
		name = goFlagName(verb, name)
		takesValue = valueFlags[name]
	}
	n := 1
	_, value, hasValue := strings.Cut(words[0], "=")
	switch {
	case !hasValue && !takesValue:
		value = "true"
	case !hasValue && len(words) == 1:
		return 0, fmt.Errorf("flag needs an argument: -%s", name)
	case !hasValue:
		value, n = words[1], 2
	}
	if !isOwn {
		a.args = append(a.args, arg{name, value, words[:n]})
		return n, nil
	}
	if err := own.Set(name, value); err != nil {
		return 0, fmt.Errorf("invalid value %q for flag -%s: %w", value, name, err)
	}
	return n, nil
}

// goFlagName maps go test's long names of flags to the short ones.
// -test.count and -count are the same to go test, and so they are to Flag.
func goFlagName(verb, name string) string {
	if verb == "test" {
		return strings.TrimPrefix(name, "test.")
	}
	return name
}

// Unknown returns the first flag that neither stemma nor the go command has, as far as is
// known, and that is like another one, "" if there is none: a slip would else be go's to
// explain, which takes the value of the flag for a package.
func (a *Args) Unknown(like func(name string) bool) string {
	for _, x := range a.args {
		if x.flag != "" && !valueFlags[x.flag] && !boolFlags[x.flag] && like(x.flag) {
			return x.flag
		}
	}
	return ""
}

// Flag returns the value of the last flag of that name, and whether there is one.
// A flag without a value has the value "true".
func (a *Args) Flag(name string) (string, bool) {
	for i := len(a.args) - 1; i >= 0; i-- {
		if a.args[i].flag == name {
			return a.args[i].value, true
		}
	}
	return "", false
}

// isSet reports whether a boolean flag is given, and true.
func (a *Args) isSet(name string) bool {
	value, _ := a.Flag(name)
	set, err := strconv.ParseBool(value)
	return err == nil && set
}

// Remove takes all flags of that name out.
// It is for flags that have become part of a Build, which passes them on itself.
func (a *Args) Remove(name string) {
	var kept []arg
	for _, x := range a.args {
		if x.flag != name {
			kept = append(kept, x)
		}
	}
	a.args = kept
}

// Rest returns what follows the flags: packages, and for run the program's arguments.
// The caller must not change them.
func (a *Args) Rest() []string { return a.rest }

// Words returns the flags, and for test the packages among them, as they were written.
func (a *Args) Words() []string {
	var words []string
	for _, x := range a.args {
		words = append(words, x.words...)
	}
	return words
}

// withGOFLAGS returns a with the flags of GOFLAGS in front, to look flags up.
// It is not for Words: GOFLAGS stays in the go command's environment.
// They come first, so that the command line overrides them as it does in go.
func (a *Args) withGOFLAGS(goflags string) (*Args, error) {
	words, err := base.SplitQuoted(goflags)
	if err != nil {
		return nil, fmt.Errorf("GOFLAGS: %w", err)
	}
	both := new(Args)
	for _, w := range words {
		name, ok := flagName(w)
		if !ok {
			return nil, fmt.Errorf("GOFLAGS: not a flag: %q", w)
		}
		_, value, hasValue := strings.Cut(w, "=")
		if !hasValue {
			value = "true"
		}
		both.args = append(both.args, arg{name, value, []string{w}})
	}
	both.args = append(both.args, a.args...)
	return both, nil
}

// refused are the flags that cannot work, with the reason.
var refused = map[string]string{
	"msan":       "the memory sanitizer's runtime is not supported in this version",
	"asan":       "the address sanitizer's runtime is not supported in this version",
	"linkshared": "shared libraries of Go packages are not supported; they would hold the plain runtime",
}

// refusedModes are the build modes that cannot work, with the reason.
var refusedModes = map[string]string{
	"c-archive": "a runtime inside a C program is not supported in this version",
	"c-shared":  "a runtime inside a C program is not supported in this version",
	"shared":    "shared libraries of Go packages are not supported",
}

// check refuses flags, from the command line or GOFLAGS, that cannot work.
func (a *Args) check() error {
	for name, reason := range refused {
		if v, ok := a.Flag(name); ok && v != "false" && v != "0" {
			return fmt.Errorf("-%s: %s", name, reason)
		}
	}
	mode, _ := a.Flag("buildmode")
	if reason, ok := refusedModes[mode]; ok {
		return fmt.Errorf("-buildmode=%s: %s", mode, reason)
	}
	if c, ok := a.Flag("compiler"); ok && c != "gc" {
		return errors.New("-compiler=" + c + ": stemma is an extension of the gc compiler")
	}
	return nil
}

// checkRace refuses what needs return addresses that the race detector reads itself.
func (o *Options) checkRace(a *Args) error {
	value, _ := a.Flag("race")
	if race, _ := strconv.ParseBool(value); race && o.Chosen().Takes("weights") &&
		o.Acct.Weights != DefaultOptions.Acct.Weights {
		return fmt.Errorf("-weights=%s: with -race it is not known which edges are new; build without -race",
			o.Acct.Weights)
	}
	return nil
}

// Tested returns the packages among the flags of go test, the one in the working directory if there are none.
func (a *Args) Tested() (list []string) {
	for _, x := range a.args {
		if x.flag == "" {
			list = append(list, x.words...)
		}
	}
	if list == nil {
		return []string{"."}
	}
	return list
}
