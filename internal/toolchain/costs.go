package toolchain

import (
	"fmt"
	"io"
	"slices"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot"
)

// A build for costs makes a plain program, for this machine or another one, which says beside its code what the
// counters of operations of a recording program stand for in it. Of stemma only the compiler is there: no -overlay, no
// other runtime. Package costmodel reads what the compiler has left.

// NewCosts is [NewBuild] for a build for costs.
func NewCosts(a *Args, stderr io.Writer) (*Build, error) {
	dir, _ := a.Flag("C")
	g, all, err := a.find(dir)
	if err != nil {
		return nil, err
	}
	host := *g
	host.OS, host.Arch = g.HostOS, g.HostArch
	if err := host.Check(); err != nil {
		return nil, err
	}
	if err := goroot.CheckCosts(g.OS, g.Arch); err != nil {
		return nil, err
	}
	if !slices.Contains(goroot.Architectures, g.Arch) {
		host.Foreign = g.Arch
	}
	if host.Warning != "" {
		fmt.Fprintf(stderr, "stemma: warning: %s\n", host.Warning)
	}
	e, _, err := Prepare(&host, stderr)
	if err != nil {
		return nil, err
	}
	b := &Build{Go: g, Entry: e, Dir: dir}
	b.tool = &tool{entry: e, forCompile: "engine=" + engine.Costs, costs: true}
	if user, _ := all.Flag("toolexec"); user != "" {
		if b.tool.chain, err = base.SplitQuoted(user); err != nil {
			return nil, fmt.Errorf("-toolexec: %w", err)
		}
	}
	if b.flags, err = b.tool.flags(""); err != nil {
		return nil, err
	}
	a.Remove("C")
	a.Remove("toolexec")
	return b, nil
}
