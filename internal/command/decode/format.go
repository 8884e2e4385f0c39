package decode

import (
	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/decode"
)

// A Format is how a command prints contexts.
type Format string

// The formats of contexts.
const (
	FormatLine  Format = "line"  // one line, all frames
	FormatShort Format = "short" // one line, the inner frames and the root
	FormatStack Format = "stack" // two lines for each frame

	// The fingerprint of a context has no stack. Only decode prints it alone.
	FormatFingerprint Format = "fingerprint"
	formatCounted     Format = "-fingerprint" // a line for each ID, for sort and uniq
)

// ShortFrames is how many frames FormatShort shows.
const ShortFrames = 6

// Check returns an error for a format that does not exist.
func (f Format) Check() error {
	switch f {
	case FormatLine, FormatShort, FormatStack:
		return nil
	}
	return base.Usagef("-format=%s: no such format (have line, short, stack)", f)
}

// checkDecode is Check for decode.
func (f Format) checkDecode() error {
	if f == FormatFingerprint || f.Check() == nil {
		return nil
	}
	return base.Usagef("-format=%s: no such format (have line, short, stack, fingerprint)", f)
}

// Append appends a context. In FormatStack it is several lines with the prefix.
func (f Format) Append(b []byte, s decode.Stack, prefix string) []byte {
	switch f {
	case FormatStack:
		return s.AppendStack(b, prefix)
	case FormatShort:
		return s.AppendLine(b, ShortFrames)
	}
	return s.AppendLine(b, -1)
}
