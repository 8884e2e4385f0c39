package toolchain

import (
	"strings"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot"
	"github.com/stemma-go/stemma/internal/module"
)

// Options are stemma's own settings of a build: what its flags choose, and what commands add.
// They reach the compiler in an environment variable and the program in a string
// that the linker sets; other than flags of go they are in no build ID of
// their own, see [Toolexec].
type Options struct {
	engine.Options
	Symbols bool           // link with symbols even where go test asks for none
	Defined *module.Module // what the file of -module has, for what the build finds out of it; nil for none
	Out     string         // where programs record whose environment does not say; "" for stemma.out
}

// DefaultOptions are the options of a build without flags.
var DefaultOptions = Options{Options: engine.DefaultOptions}

// targets returns the GOARCHs that the options are there for, with commas between them.
func (o *Options) targets() string {
	var list []string
	for _, arch := range goroot.Architectures {
		if o.CheckTarget("linux", arch) == nil {
			list = append(list, arch)
		}
	}
	return strings.Join(list, ",")
}

// forLink returns the value of the program's runtime.stemmaOptions.
func (o *Options) forLink() string {
	s := o.ForRuntime()
	if o.Out != "" && !strings.ContainsAny(o.Out, ", '\"") {
		s += ",out=" + o.Out + ",quiet=on" // tests compare what their children print
	}
	return s
}
