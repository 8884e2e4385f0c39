// Package measure builds programs in several ways and measures their runs.
package measure

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/wrap"
	"github.com/stemma-go/stemma/internal/engine"
)

// Variant is a way to build and run a program.
type Variant struct {
	Name    string
	Flags   []string // of stemma build; nil for go build
	GoFlags []string // of go build
	Env     []string // of runs, in addition to the environment
	Wrap    string   // a profiler that main is wrapped in, see package wrap
	Rounds  int      // most rounds; 0 for no limit, or WarmUpOnly
	Few     bool     // for some programs only, see session.Landmarks
}

// WarmUpOnly as the number of rounds of a variant says that only its records
// are of interest.
const WarmUpOnly = -1

// Plain is the program as the go command builds it. PlainAgain is a second
// build of it: what differs between the two is noise.
var (
	Plain      = Variant{Name: "plain"}
	PlainAgain = Variant{Name: "plain again"}
)

// rivalRounds is how often what is not stemma's is run: it is a landmark.
const rivalRounds = 3

// rivals are what a user would take instead of stemma.
var rivals = []Variant{
	{Name: "pprof", Wrap: "pprof", Rounds: rivalRounds},
	{Name: "fgprof", Wrap: "fgprof", Rounds: rivalRounds},
	// 25 times as slow where much is allocated
	{Name: "memprofile", Env: []string{"GODEBUG=memprofilerate=1"}, Rounds: 1},
	{Name: "race", GoFlags: []string{"-race"}, Rounds: 1}, // and ten times
}

// ParseVariant makes a variant of "ENGINE FLAG…", as in "cct -inlined=off", or
// of the name of a rival: pprof, fgprof, memprofile, race. A last word
// "rounds=N" limits the rounds; behind it "few" limits the programs.
func ParseVariant(s string) (Variant, error) {
	words := strings.Fields(s)
	few := len(words) > 1 && words[len(words)-1] == "few"
	if few {
		words = words[:len(words)-1]
	}
	rounds := 0
	if n := len(words); n > 1 && strings.HasPrefix(words[n-1], "rounds=") {
		var err error
		if rounds, err = strconv.Atoi(words[n-1][len("rounds="):]); err != nil || rounds < 1 {
			return Variant{}, fmt.Errorf("variant %q: %s: want a number from 1 on", s, words[n-1])
		}
		words = words[:n-1]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return Variant{}, fmt.Errorf("variant %q: want an engine, then flags of stemma build; or a rival", s)
	}
	v := Variant{Name: strings.Join(words, " "), Flags: append([]string{"-engine=" + words[0]}, words[1:]...)}
	for _, r := range rivals {
		if r.Name == v.Name {
			v = r
		}
	}
	if rounds > 0 {
		v.Rounds = rounds
	}
	v.Few = few
	return v, nil
}

// Instrumented reports whether stemma builds v.
func (v Variant) Instrumented() bool { return v.Flags != nil }

// Engine returns the engine of an instrumented variant, "" for another one.
func (v Variant) Engine() string {
	if !v.Instrumented() {
		return ""
	}
	return strings.TrimPrefix(v.Flags[0], "-engine=")
}

// Records reports whether runs of v leave records.
func (v Variant) Records() bool {
	e := engine.Lookup(v.Engine())
	return e != nil && e.File != ""
}

// FileName returns the name of v without spaces.
func (v Variant) FileName() string {
	return strings.NewReplacer(" ", "_", ":", "_", ",", "+").Replace(v.Name)
}

// Bench builds and runs programs.
type Bench struct {
	Stemma  string        // the stemma command
	Work    string        // directory for binaries and live directories
	Timeout time.Duration // of a run

	mu    sync.Mutex
	built map[string]*Binary // by path: what several tables need is built once
}

// Binary is a program, built.
type Binary struct {
	Program *program.Program
	Variant Variant
	Path    string
	Size    int64 // bytes
}

// Build builds p as v says, unless it has. The binary stays where it is.
func (b *Bench) Build(p *program.Program, v Variant) (*Binary, error) {
	path := filepath.Join(b.Work, "built", p.Name, v.FileName(), p.Name)
	b.mu.Lock()
	old := b.built[path]
	b.mu.Unlock()
	if old != nil && old.Program == p && old.Variant.builtAs(v) {
		bin := *old
		bin.Variant = v
		return &bin, nil
	}
	bin := &Binary{Program: p, Variant: v, Path: path}
	if err := b.build(bin); err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.built == nil {
		b.built = make(map[string]*Binary)
	}
	kept := *bin
	b.built[path] = &kept
	return bin, nil
}

// builtAs reports whether a build of v is one of w as well.
func (v Variant) builtAs(w Variant) bool {
	return slices.Equal(v.Flags, w.Flags) && slices.Equal(v.GoFlags, w.GoFlags) && v.Wrap == w.Wrap
}

func (b *Bench) build(bin *Binary) error {
	p, v := bin.Program, bin.Variant
	if v.Wrap != "" {
		flags, err := wrap.Main(p.MainDir(), filepath.Join(filepath.Dir(bin.Path), "wrap"), v.Wrap)
		if err != nil {
			return err
		}
		v.GoFlags = append(flags, v.GoFlags...)
	}
	c := b.BuildCommand(p, v, bin.Path)
	var err error
	if c.Env, err = compileOnce(); err != nil {
		return err
	}
	if err := c.Run(); err != nil {
		return err
	}
	info, err := os.Stat(bin.Path)
	if err != nil {
		return err
	}
	bin.Size = info.Size()
	return nil
}

// atOnce is how many builds run at once where nothing is measured: a linker mostly has one thread.
const atOnce = 2

// BuildAll builds p in several ways, and returns for each the binary, or why there is none.
func (b *Bench) BuildAll(p *program.Program, list []Variant, tell func(string)) ([]*Binary, []error) {
	bins, errs := make([]*Binary, len(list)), make([]error, len(list))
	var wg sync.WaitGroup
	slots := make(chan bool, atOnce)
	for i, v := range list {
		slots <- true
		tell(fmt.Sprintf("build %s: %s", p.Name, v.Name))
		wg.Go(func() {
			bins[i], errs[i] = b.Build(p, v)
			<-slots
		})
	}
	wg.Wait()
	return bins, errs
}

// BuildCommand returns the command that builds p as v says and writes to out.
func (b *Bench) BuildCommand(p *program.Program, v Variant, out string) *Command {
	args := []string{"go", "build"}
	if v.Instrumented() {
		args = append([]string{b.Stemma, "build"}, v.Flags...)
	}
	args = append(args, v.GoFlags...)
	return &Command{Dir: p.Dir, Args: append(args, "-o", out, p.Package)}
}

// compileOnce is the environment in which C is compiled once and not for each build of
// a program, if ccache is there to do that and the user has not chosen a compiler:
// sqlite takes a minute, and the go command keeps no object files of C apart from the
// package that they are in. The compiler's name must stay gcc, so it is a link to ccache
// in the user's cache directory: with CC="ccache gcc" the go command does not find out
// that gcc knows -no-pie, and makes an executable that the race detector has no address
// range for. The settings let ccache look past what differs between builds of the same C:
// the working directory and a seed.
func compileOnce() ([]string, error) {
	ccache, err := exec.LookPath("ccache")
	if err != nil || os.Getenv("CC") != "" {
		return nil, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "stemma-bench")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(ccache, filepath.Join(dir, "gcc")); err != nil && !os.IsExist(err) {
		return nil, err
	}
	path := dir + string(filepath.ListSeparator) + os.Getenv("PATH")
	return []string{"PATH=" + path, "CCACHE_BASEDIR=" + os.TempDir(), "CCACHE_NOHASHDIR=1",
		"CCACHE_SLOPPINESS=random_seed"}, nil
}

// Command is a command that is silent unless it fails.
type Command struct {
	Dir  string
	Env  []string // in addition to the environment
	Args []string
}

// Run runs c; its error tells the end of what the command has printed.
func (c *Command) Run() error {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w%s", strings.Join(c.Args, " "), err, tail(out))
	}
	return nil
}

// tail returns the last lines of what a command has printed, indented.
func tail(out []byte) string { return excerpt(out, 0, 8) }

// excerpt returns the first and the last lines of what a command has printed, indented:
// a program that crashes says why in the beginning.
func excerpt(out []byte, first, last int) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var b strings.Builder
	for i, line := range lines {
		switch {
		case i < first || i >= len(lines)-last:
			fmt.Fprintf(&b, "\n\t%s", line)
		case i == first && first > 0:
			b.WriteString("\n\t...")
		}
	}
	return b.String()
}

// Run is one run of a binary.
type Run struct {
	User     time.Duration
	System   time.Duration
	Wall     time.Duration // without the turns of others, see Rounds
	Peak     int64         // bytes of resident memory
	Checksum string
	Stderr   string
}

// Run runs bin once. Where it records is out, which must be absolute and need
// not exist.
//
// The times are those of the process and of the processes that it waits for.
func (b *Bench) Run(bin *Binary, out string) (Run, error) {
	p := newProcess(bin, out)
	takeTurns([]*process{p}, b.Timeout, b.Timeout)
	return p.result()
}
