package base

import "testing"

// TestWithoutCredentials has paths and URLs, also those that package url does not take.
func TestWithoutCredentials(t *testing.T) {
	for path, want := range map[string]string{
		"pyroscope://u:secret@h:1?service=a":               "pyroscope://h:1?service=a",
		"pyroscope://u:se%cret@h:1?service=a":              "pyroscope://h:1?service=a",
		"pyroscope://u:se/cr@et@h:1/p?service=a@b":         "pyroscope://h:1/p?service=a@b",
		"pyroscope://u:secret@h?query={a=\"b\",\nc=\"d\"}": "pyroscope://h?query={a=\"b\",\nc=\"d\"}",
		"pyroscope://u:1?secret@h:1?service=a":             "pyroscope://h:1?service=a",
		"pyroscope://u:se?cr=et@h:1?service=a@b":           "pyroscope://h:1?service=a@b",
		"pyroscope://u:secret@h?service=a@b":               "pyroscope://h?service=a@b",
		"pyroscope://[::1]:4040/p?query={a=\"b@c\"}":       "pyroscope://[::1]:4040/p?query={a=\"b@c\"}",
		"pyroscope://h:1":                                  "pyroscope://h:1",
		"s3://key@bucket/prefix":                           "s3://bucket/prefix",
		"stemma.out/a@b":                                   "stemma.out/a@b",
		"./a://b@c":                                        "./a://b@c",
	} {
		if have := WithoutCredentials(path); have != want {
			t.Errorf("%q: have %q, want %q", path, have, want)
		}
	}
}
