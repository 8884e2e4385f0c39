// Package seal makes one profile file of live directories.
package seal

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record/store"
)

// Command makes one file of what a program writes while it runs.
func Command() *base.Command {
	return &base.Command{
		Name:  "seal",
		Args:  "[-o FILE] [-repeats] LIVEDIR...",
		Short: "make one profile file of live directories",
		Long: `Seal adds up live directories and sealed files, and writes one sealed file, by
default with the name of the first one and the suffix .stemma. The directories
stay. The programs may still be running.

With -repeats each of them is a run of the same work. The file gets the counts of
the first, and their variation as metrics of their own: calls.varies for calls.
`,
		Flags: func(fs *flag.FlagSet) { sealFlags(fs) },
		Run:   runSeal,
	}
}

// sealFlags declares the flags, for parsing and for the help text.
func sealFlags(fs *flag.FlagSet) (out *string, repeats *bool) {
	repeats = new(bool)
	DeclareRepeats(fs, repeats)
	return fs.String("o", "", "write the profile to `FILE`"), repeats
}

// DeclareRepeats declares what seal and baseline have in common.
func DeclareRepeats(fs *flag.FlagSet, repeats *bool) {
	fs.BoolVar(repeats, "repeats", false, "the records are runs of the same work: find what varies in them")
}

// defaultOut returns the name of the first path with the suffix. What is to be read is not written over without a word.
func defaultOut(paths []string) (string, error) {
	first := filepath.Clean(paths[0])
	if base := filepath.Base(first); base == "." || base == ".." { // whose name is elsewhere
		abs, err := filepath.Abs(first)
		if err != nil {
			return "", err
		}
		first = abs
	}
	out := strings.TrimSuffix(first, store.SealedSuffix) + store.SealedSuffix
	there, err := os.Stat(out)
	if err != nil {
		return out, nil //nolint:nilerr // it is not there, or writing it fails
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, there) {
			return "", base.Usagef("seal: %s is to be read, and would be written over; name the new file with -o", out)
		}
	}
	return out, nil
}

// checkOutside refuses to write the profile into a live directory, with which it would go.
func checkOutside(out string) error {
	if place, err := store.Probe(filepath.Dir(out)); err != nil || place.Main == "" {
		return nil //nolint:nilerr // it is none, or writing there fails
	}
	return base.Usagef("seal: %s lies in a live directory, with which 'stemma clean' removes it; name another file "+
		"with -o", out)
}

// runSeal seals what the arguments name. There is no default: sealing the
// wrong directory would go unnoticed.
func runSeal(e *base.Env, args []string) error {
	fs := flag.NewFlagSet("seal", flag.ContinueOnError)
	out, repeats := sealFlags(fs)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return base.Usagef("seal: no live directory given; name one, or several that are added up%s",
			store.Suggest("seal"))
	}
	if *out == "" {
		if *out, err = defaultOut(paths); err != nil {
			return err
		}
	}
	if err := checkOutside(*out); err != nil {
		return err
	}
	work := progress.Begin(e.Stderr, "seal")
	defer work.End()
	if *repeats {
		p, err := store.SealRepeats(paths, *out)
		if err != nil {
			return err
		}
		work.End()
		report.Stability(e.Stderr, p.Profile, len(paths), *out)
		return nil
	}
	p, err := store.Seal(paths, *out, 0)
	if err != nil {
		return err
	}
	work.End()
	if text := report.Collided(p.Profile); text != "" {
		fmt.Fprintf(e.Stderr, "stemma: warning: %s\n", text)
	}
	return nil
}
