package launch

import (
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// fixedBenchtime is how often a benchmark runs that is to do the same work each time.
const fixedBenchtime = "100x"

// TestFlags checks the arguments, and returns the flags that go test gets beside them.
func (p *GoArgs) TestFlags(deterministic bool) ([]string, error) {
	if vet, ok := p.Args.Flag("vet"); ok && vet != "off" {
		return nil, exit.Usagef("test: -vet=%s: go vet cannot look at stemma's runtime, which is not on disk; run go "+
			"vet by itself", vet)
	}
	// The go command runs vet for each package, imported ones too, in the
	// package's directory, and that of the runtime's half is in the overlay only.
	flags := []string{"-vet=off"}
	if _, ok := p.Args.Flag("count"); !ok {
		flags = append(flags, "-count=1")
	}
	if _, ok := p.Args.Flag("benchtime"); !ok && deterministic {
		flags = append(flags, "-benchtime="+fixedBenchtime) // b.N would depend on time
	}
	return flags, nil
}

// WarmFlags returns flags with what makes the warm file of a test binary when it starts, if that is asked for.
func (p *GoArgs) WarmFlags(b *toolchain.Build, flags []string) ([]string, error) {
	if !p.Opts.IsWarm() {
		return flags, nil
	}
	if _, ok := p.Args.Flag("c"); ok {
		return nil, exit.Usagef("test: -c: the call graph of a test is made when it runs; leave -c out, or use %s "+
			"without -warm", engine.Giving(engine.IDs))
	}
	exec, err := b.WarmExec(p.Opts, p.Args)
	if err != nil {
		return nil, err
	}
	p.Args.Remove("exec")
	return append(flags, "-exec="+exec), nil
}
