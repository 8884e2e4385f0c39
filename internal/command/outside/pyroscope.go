package outside

import (
	"net/url"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/progress"
)

// IsPyroscope reports whether a path is none, but the URL of what a Pyroscope is asked for. The program stemma-fleet
// asks it.
func IsPyroscope(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && (scheme == "pyroscope" || scheme == "pyroscope+https")
}

// PyroscopeName returns a URL as messages have it, without credentials.
func PyroscopeName(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.User == nil {
		return path
	}
	u.User = nil
	return u.String()
}

// FromPyroscope returns the file with what a URL asks for.
func FromPyroscope(e *base.Env, path string) ([]string, error) {
	defer progress.Step("asking "+PyroscopeName(path), "", nil)()
	return fetch(e.Stderr, "-pyroscope="+path)
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
