package base

import "strings"

// IsURL reports whether a path is none, but a URL.
func IsURL(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && scheme != "" && !strings.Contains(scheme, "/")
}

// WithoutCredentials returns a path as messages have it: of a URL, what stands before the @ of its address may be a
// password. It need not be one that packages for URLs take.
func WithoutCredentials(path string) string {
	if !IsURL(path) {
		return path
	}
	scheme, rest, _ := strings.Cut(path, "://")
	address, question, asks := strings.Cut(rest, "?")
	address = address[strings.LastIndexByte(address, '@')+1:]
	if asks {
		address += "?" + question
	}
	return scheme + "://" + address
}
