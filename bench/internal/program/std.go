package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// compiled is the package that the measured compiler compiles.
const compiled = "net/http"

// formatted is what gofmt reads, below GOROOT/src: all of it would take 9 s.
var formatted = []string{"crypto", "go", "net", "runtime"}

// Std returns the programs that come with Go: gofmt, which reads a quarter
// of GOROOT/src, and the compiler, which compiles net/http. They are built and
// run in dir.
func Std(goroot, dir string) []*Program {
	args := []string{"-l"}
	for _, d := range formatted {
		args = append(args, filepath.Join(goroot, "src", d))
	}
	return []*Program{
		{
			Name: "gofmt", Dir: dir, Package: "cmd/gofmt", Source: filepath.Join(goroot, "src", "cmd", "gofmt"),
			Args:     args,
			checksum: outputHash,
		},
		{
			Name: "compile", Dir: dir, Package: "cmd/compile", Source: filepath.Join(goroot, "src", "cmd", "compile"),
			setUp: setUpCompile,
		},
	}
}

// setUpCompile writes the import configuration of the compiled package and
// makes the arguments that the go command would call the compiler with.
func setUpCompile(p *Program, dir string) error {
	packages, err := listExports(p.Dir, compiled)
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "importcfg")
	if err := os.WriteFile(config, importConfig(packages), 0o644); err != nil {
		return err
	}
	p.object = "object.a"
	p.checksum = fileHash(p.object)
	p.Args = []string{"-p", compiled, "-std", "-complete", "-pack", "-importcfg", config}
	target := packages[len(packages)-1] // go list -deps puts it last
	for _, f := range target.GoFiles {
		p.Args = append(p.Args, filepath.Join(target.Dir, f))
	}
	return nil
}

// listed is what go list tells about a package.
type listed struct {
	ImportPath string
	Dir        string
	Export     string
	GoFiles    []string
	ImportMap  map[string]string
}

// listExports returns a package and all that it imports, itself last.
func listExports(dir, path string) ([]listed, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,ImportMap", path)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export %s: %w", path, withStderr(err))
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("go list -export %s: %w", path, err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("go list -export %s: no packages", path)
	}
	return packages, nil
}

// withStderr adds to err what the command has said.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// importConfig returns the file that tells the compiler where the export data
// of imported packages is.
func importConfig(packages []listed) []byte {
	renamed := make(map[string]string)
	var b strings.Builder
	for _, p := range packages {
		maps.Copy(renamed, p.ImportMap)
		if p.Export != "" {
			fmt.Fprintf(&b, "packagefile %s=%s\n", p.ImportPath, p.Export)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(renamed)) {
		fmt.Fprintf(&b, "importmap %s=%s\n", from, renamed[from])
	}
	return []byte(b.String())
}
