package toolchain

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// An overlay is the contents of a file for the go command's -overlay flag.
type overlay struct {
	// Replace maps paths of files that the go command opens to those of the
	// files that it finds there; an empty string deletes.
	Replace map[string]string
}

// readOverlay reads an overlay file. An error names it.
func readOverlay(file string) (overlay, error) {
	var o overlay
	data, err := os.ReadFile(file)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("%s: %w", file, err)
	}
	return o, nil
}

// write writes the overlay to a file, which it replaces.
func (o overlay) write(file string) error {
	data, err := json.MarshalIndent(o, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// merge adds the user's overlay, whose relative paths are relative to dir. A
// file that both change is an error: neither change can be dropped.
// Neither o nor user is changed.
func (o overlay) merge(user overlay, dir string) (overlay, error) {
	abs := func(name string) string {
		if name != "" && !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name
	}
	merged := overlay{make(map[string]string)}
	for from, to := range o.Replace {
		merged.Replace[from] = to
	}
	for from, to := range user.Replace {
		from = filepath.Clean(abs(from))
		if _, both := o.Replace[from]; both {
			return merged, fmt.Errorf("-overlay: it replaces %s, which stemma also changes; take it out of "+
				"the overlay", from)
		}
		merged.Replace[from] = abs(to)
	}
	return merged, nil
}
