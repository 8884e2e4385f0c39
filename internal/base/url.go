package base

import (
	"regexp"
	"strings"
)

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
	if before, after, ok := strings.Cut(question, "@"); ok && !asksFor(address, before) {
		address, question, asks = strings.Cut(after, "?") // the first ? was one of the password
	}
	address = address[strings.LastIndexByte(address, '@')+1:]
	if asks {
		address += "?" + question
	}
	return scheme + "://" + address
}

// host is the beginning of an address without credentials.
var host = regexp.MustCompile(`^(\[[^\]]*\]|[^:@/]*)(:[0-9]*)?(/|$)|@`)

// asksFor reports whether a question can begin so behind an address: with KEY=.
func asksFor(address, question string) bool {
	return strings.Contains(question, "=") && host.MatchString(address)
}
