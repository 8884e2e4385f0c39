package toolchain

import (
	"fmt"
	"slices"
	"strings"
)

// Options are stemma's own settings of a build.
// They reach the compiler in an environment variable and the program in a string
// that the linker sets; other than flags of go they are in no build ID by
// themselves, see [Toolexec].
type Options struct {
	Engine    string // "cct", or "none" for a build without instrumentation
	Recursion string // "fold" or "full"
	Inlined   bool   // count inlined calls
	Verify    bool   // add the checker
	Nodes     uint64 // node budget; 0 for the runtime's default
	Out       string // where programs record whose environment does not say; "" for stemma.out
}

// DefaultOptions are the options of a build without flags.
var DefaultOptions = Options{Engine: "cct", Recursion: "fold", Inlined: true}

// engines of DESIGN that this version does not have.
var laterEngines = []string{"pcce", "lucce", "sample", "stw", "sps", "isps", "acct"}

// engines are those that this version has.
var engines = []string{"cct", "dacce", "pcc"}

// Check reports the first option that this version does not have.
// An engine that is planned has a message of its own: its name is no mistake.
func (o Options) Check() error {
	if slices.Contains(laterEngines, o.Engine) {
		return fmt.Errorf("-engine=%s: not available in this version; it has %s", o.Engine, strings.Join(engines, ", "))
	}
	if !slices.Contains(engines, o.Engine) && o.Engine != "none" {
		return fmt.Errorf("-engine=%s: no such engine (have %s)", o.Engine, strings.Join(engines, ", "))
	}
	if o.Recursion != "fold" && o.Recursion != "full" {
		return fmt.Errorf("-recursion=%s: no such mode (have fold, full)", o.Recursion)
	}
	return nil
}

// ForCompiler returns what the compiler finds in STEMMA_COMPILE. It becomes
// part of the compiler's version, and so of every package's build ID.
// It holds only what changes the code: other options must not cause a rebuild.
func (o Options) ForCompiler() string {
	return fmt.Sprintf("engine=%s,inlined=%s,verify=%s", o.Engine, onOff(o.Inlined), onOff(o.Verify))
}

// ForRuntime returns the value of the program's runtime.stemmaOptions.
// The runtime reads it before it can allocate, so it is flat: words of name=value
// with commas between them.
func (o Options) ForRuntime() string {
	s := []string{"engine=" + o.Engine, "recursion=" + o.Recursion, "verify=" + onOff(o.Verify)}
	if o.Nodes != 0 {
		s = append(s, fmt.Sprintf("nodes=%d", o.Nodes))
	}
	if o.Out != "" && !strings.ContainsAny(o.Out, ", '\"") {
		s = append(s, "out="+o.Out)
	}
	return strings.Join(s, ",")
}

// onOff spells a switch as the flags do.
func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
