package cli

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
)

// sealCommand makes one file of what a program writes while it runs.
func sealCommand() *command {
	return &command{
		name:  "seal",
		args:  "[-o FILE] LIVEDIR...",
		short: "make one profile file of live directories",
		long: `Seal adds up live directories and sealed files, and writes one sealed file, by
default with the name of the first one and the suffix .stemma. The directories
stay. The programs may still be running.
`,
		flags: func(fs *flag.FlagSet) { sealFlags(fs) },
		run:   runSeal,
	}
}

// sealFlags declares the flags, for parsing and for the help text.
func sealFlags(fs *flag.FlagSet) *string {
	return fs.String("o", "", "write the profile to `FILE`")
}

// runSeal seals what the arguments name. There is no default: sealing the
// wrong directory would go unnoticed.
func runSeal(e *env, args []string) error {
	fs := flag.NewFlagSet("seal", flag.ContinueOnError)
	out := sealFlags(fs)
	paths, err := parseMixed(e, fs, args)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return usageError("seal: no live directory given")
	}
	if *out == "" {
		*out = strings.TrimSuffix(filepath.Clean(paths[0]), sealedSuffix) + sealedSuffix
	}
	_, err = seal(paths, *out, 0)
	return err
}

// seal writes the sum of the profiles at paths to out, and returns it. The
// file appears under its name only when it is complete.
// Equal sums give equal files, whatever the order of paths. elapsed is how long the
// program ran, 0 if that is not known.
func seal(paths []string, out string, elapsed time.Duration) (*record.Record, error) {
	p, err := load(paths)
	if err != nil {
		return nil, err
	}
	if p, err = record.Merge(p); err != nil { // for its canonical order
		return nil, err
	}
	if p.IDs != nil && elapsed > 0 {
		p.IDs.Stats.Elapsed = elapsed
	}
	return p, writeFile(out, p.Write)
}

// writeFile replaces the file at path by what write writes.
// It writes to a file beside it and renames that: path holds what it held, or all
// of the new contents, but never a part. What is no file, as /dev/null or a pipe, is written
// to as it is. The error names path.
func writeFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeTo(path, path, os.O_WRONLY, write)
	}
	// The process ID keeps two commands with one output apart. Not os.CreateTemp: its
	// files are readable by their owner only, and this one gets the usual mode.
	tmp := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	defer os.Remove(tmp) // fails after the rename, as it should
	if err := writeTo(tmp, path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, write); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// writeTo opens a file and writes what write writes; errors of writing name path.
func writeTo(name, path string, flags int, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// How many functions and paths the summary of a run shows.
const (
	topFunctions = 6
	topPaths     = 6
)

// sealAndSummarize seals a live directory, which stays, into outFile and
// prints a summary to standard error.
// Losses are part of the summary: who reads only that must not miss them.
func sealAndSummarize(e *env, liveDir, outFile string, elapsed time.Duration) error {
	p, err := seal([]string{liveDir}, outFile, elapsed)
	if err != nil {
		return err
	}
	if p.IDs != nil {
		summarizeContexts(e, p, outFile)
		return nil
	}
	t, err := cct.Of(p.Profile, "")
	if err != nil {
		return err
	}
	r := &reporter{w: e.stderr, t: t, totals: t.Totals()}
	for _, line := range samplingLines(p.Profile) {
		r.printf("stemma: %s\n", line)
	}
	if !t.Type.Sampled {
		r.printf("stemma: %s\n", summaryLine(t, r.totals))
	}
	for _, line := range warnings(p.Profile) {
		r.printf("stemma: warning: %s\n", line)
	}
	if err := r.overview(); err != nil {
		return err
	}
	r.printf("stemma: wrote %s; see 'stemma report %s'\n", outFile, outFile)
	return nil
}

// overview prints what a person wants to know first: the functions that are called most, and
// the call paths below which most calls are. One context by itself has few of them.
func (r *reporter) overview() error {
	list, err := r.t.By("function")
	list = slices.DeleteFunc(list, func(g cct.Group) bool { return g.Self == 0 })
	if err != nil || len(list) == 0 {
		return err
	}
	r.groupHead("function")
	for _, g := range list[:min(topFunctions, len(list))] {
		r.groupLine(g)
	}
	r.printf("%15s %7s  call path\n", "total", "%")
	below := r.t.Inclusive()
	for _, n := range r.t.Cover(topPaths) {
		r.printf("%15s %s  %s\n", r.amount(below[n]), r.percent(below[n]), contextLine(r.t.Stack(n)))
	}
	return nil
}

// Widths of contextLine.
const (
	contextWidth  = 100
	contextFrames = 4
)

// contextLine returns a context in one line, innermost first. Of a long one it
// shows the innermost frames, how many are left out, and the outermost.
func contextLine(stack []cct.Frame) string {
	const arrow = " ← "
	line := stack[0].Func
	last := len(stack) - 1
	for i := 1; i <= last; i++ {
		next := arrow + stack[i].Func
		if left := last - i; left > 1 && (i > contextFrames || len(line)+len(next) > contextWidth) {
			return line + fmt.Sprintf("%s%d more%s%s", arrow, left, arrow, stack[last].Func)
		}
		line += next
	}
	return line
}
