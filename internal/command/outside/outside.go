// Package outside runs the commands that are modules of their own.
package outside

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/stemma-go/stemma/internal/base"
)

// A program is a module of its own, in cmd/ beside stemma.
type program struct{ name, install string }

// clone is how a module is installed that takes stemma from the tree beside it.
const clone = "clone https://github.com/stemma-go/stemma, and in it: "

var (
	fleet = program{"stemma-fleet", clone + "cd cmd/stemma-fleet && go install ."}
	mcp   = program{"stemma-mcp", "go install github.com/stemma-go/stemma/cmd/stemma-mcp@latest"}
)

// commands are what stemma becomes one of these programs for.
var commands = []struct {
	program
	before []string // what stands before the arguments
	base.Command
}{
	{fleet, []string{"collect"}, base.Command{
		Name: "collect", Args: "-store URL [-to SINK] [flags] [DIR...]",
		Short: "upload the records of a machine to a bucket",
		Long: `Collect uploads the segments of programs that run, and the records of programs that
have ended or have context IDs, to a bucket: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX,
azblob://CONTAINER/PREFIX or file:///DIRECTORY. It goes on until it gets SIGTERM;
with -once it ends when all is there. The flag -store of report, view, diff,
baseline, info, export, decode and events reads from the bucket. With -to pyroscope=URL or -to otlp=URL
it pushes what was counted to Pyroscope, or to a collector of OpenTelemetry.
'stemma-fleet collect -h' lists the flags.
`}},
	{mcp, nil, base.Command{
		Name: "mcp", Short: "serve editors and agents",
		Long: `Mcp speaks the Model Context Protocol on standard input and output.
`}},
}

// Commands returns the commands of other programs.
func Commands() (list []*base.Command) {
	for _, c := range commands {
		one := c.Command
		one.Long += fmt.Sprintf(`
It is a program of its own, %s, since it requires what stemma does not. It must
be beside stemma or in $PATH. To have it, %s
`, c.name, c.install)
		one.Run = func(_ *base.Env, args []string) error { return c.become(append(c.before, args...)) }
		list = append(list, &one)
	}
	return list
}

// find returns where a program is: beside this one, or in $PATH.
func (p program) find() (string, error) {
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		beside := filepath.Join(filepath.Dir(self), p.name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	path, err := exec.LookPath(p.name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("no %s beside stemma or in $PATH, which is a program of its own; %s", p.name, p.install)
	}
	return path, err
}

// become replaces this process by the program.
func (p program) become(args []string) error {
	path, err := p.find()
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, append([]string{p.name}, args...), os.Environ()))
}
