package decode

import (
	"bytes"
	"io"
	"os"

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

// notRecord returns an error that says how to decode the log at path, nil if the file may be a record.
func notRecord(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 16)
	n, _ := io.ReadFull(f, head)
	command := compressed(head[:n])
	path = profile.Printable(path)
	switch {
	case n == 0 || sealed.Is(head[:n]):
		return nil
	case command != "":
		return base.Usagef("decode: %s is compressed, and no record; to decode a log: %s %[1]s | stemma decode", path,
			command)
	}
	return base.Usagef("decode: %s is no record; to decode a log: stemma decode <%[1]s", path)
}
