package outside

import (
	"io"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
)

// IsPyroscope reports whether a path is none, but the URL of what a Pyroscope is asked for. The program stemma-fleet
// asks it.
func IsPyroscope(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && (scheme == "pyroscope" || scheme == "pyroscope+https")
}

// FromPyroscope returns the file with what a URL asks for.
func FromPyroscope(e *base.Env, path string) ([]string, error) {
	files, warnings, err := fetch(e.Stderr, "asking "+base.WithoutCredentials(path), "-pyroscope="+path)
	_, _ = io.WriteString(e.Stderr, warnings)
	return files, err
}

// Local returns paths with files instead of the URLs among them.
func Local(e *base.Env, paths []string) ([]string, error) {
	var local []string
	for _, path := range paths {
		if !IsPyroscope(path) {
			local = append(local, path)
			continue
		}
		files, err := FromPyroscope(e, path)
		if err != nil {
			return nil, err
		}
		local = append(local, files...)
	}
	return local, nil
}
