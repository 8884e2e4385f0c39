package decode

import (
	"bytes"
	"cmp"
	"flag"
	"io"
	"os"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// compressions are forms in which rotated logs are kept: what such a file begins with, and the command that prints
// its text.
var compressions = []struct{ magic, command string }{
	{"\x1f\x8b", "zcat"},
	{"\x28\xb5\x2f\xfd", "zstdcat"},
	{"\xfd7zXZ\x00", "xzcat"},
	{"BZh91AY&SY", "bzcat"}, // of the usual block size
}

// compressed returns the command that prints the text of a file that begins with head, "" if it is not compressed.
func compressed(head []byte) string {
	for _, c := range compressions {
		if bytes.HasPrefix(head, []byte(c.magic)) {
			return c.command
		}
	}
	return ""
}

// noLogs returns an error if some of the paths are no records: it says how to decode these logs with the other paths,
// and with the flags that were given.
func noLogs(fs *flag.FlagSet, paths []string) error {
	command := []string{"stemma", "decode"}
	fs.Visit(func(f *flag.Flag) {
		command = append(command, "-"+f.Name+"="+base.WithoutCredentials(f.Value.String()))
	})
	var prints []string // commands that print the logs
	what, first := "", ""
	for _, path := range paths {
		printer, log := logAt(path)
		if !log {
			command = append(command, path)
			continue
		}
		if len(prints) == 0 {
			what, first = profile.Printable(path)+" is no record", path
			if printer != "cat" {
				what = profile.Printable(path) + " is compressed, and no record"
			}
		}
		prints = append(prints, printer+" "+base.Typed(path))
	}
	switch {
	case len(prints) == 0:
		return nil
	case len(prints) > 1:
		return base.Usagef("decode: %s; to decode logs: (%s) | %s", what, strings.Join(prints, "; "),
			base.TypedAll(command))
	case strings.HasPrefix(prints[0], "cat "):
		return base.Usagef("decode: %s; to decode a log: %s <%s", what, base.TypedAll(command), base.Typed(first))
	}
	return base.Usagef("decode: %s; to decode a log: %s | %s", what, prints[0], base.TypedAll(command))
}

// logAt returns the command that prints the file at path, and whether it may be a log: it has text, or is compressed,
// and is no record.
func logAt(path string) (printer string, log bool) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	head := make([]byte, 16)
	n, _ := io.ReadFull(f, head)
	return cmp.Or(compressed(head[:n]), "cat"), n > 0 && !sealed.Is(head[:n])
}
