package run

import (
	"os"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/module"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// A moduleFile is the value of -module. The file is read when the flag is parsed, so that its mistakes are those of the
// command line.
type moduleFile toolchain.Options

func (f *moduleFile) String() string { return f.Options.Module.Path }

func (f *moduleFile) Set(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	m, err := module.Parse(name, text)
	if err != nil {
		return err
	}
	f.Defined = m
	f.Options.Module = engine.Module{Path: name, Code: m.Encode(), Metrics: m.Told()}
	return nil
}

// checkModule reports a rule of -module that is of no function of the packages, with or without their tests.
func (p *GoArgs) checkModule(b *toolchain.Build, pkgs []string, tests bool) error {
	if err := b.CheckModule(p.Opts, p.Args, pkgs, tests); err != nil {
		return base.Usagef("%s: -module: %w", p.Verb, err)
	}
	return nil
}
