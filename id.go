package stemma

import (
	"log/slog"

	"github.com/stemma-go/stemma/internal/ctxid"
)

// An ID names a calling context of one run of a process. It is comparable. You may
// keep, store and send it; to decode it, keep the record of the run. The zero ID
// means that the program, or the moment, is not instrumented.
type ID struct {
	hi, lo uint64
	run    uint64 // the run number: different for every start of a process
}

// Parse returns the ID whose text, as [ID.String] returned it, is s. The text
// carries a check value: a text that was changed or cut on its way is an error,
// and never another ID, except for one in 65,536 of those that are damaged in
// more than one place.
func Parse(s string) (ID, error) {
	c, err := ctxid.Parse(s)
	return ID{c.Hi, c.Lo, c.Run}, err
}

// IsZero reports whether id is the zero ID.
func (id ID) IsZero() bool { return id == ID{} }

// String returns the text form: 37 characters, which are letters, digits, - and _.
// The first four are "stm2", and the next ten are those of the run. The text is safe
// in log lines, file names and URLs. That of the zero ID is empty.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	var buf [ctxid.Len]byte
	return string(ctxid.Append(buf[:0], ctxid.ID{Hi: id.hi, Lo: id.lo, Run: id.run}))
}

// AppendText appends the text form to b. It implements encoding.TextAppender;
// the error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) {
	if id.IsZero() {
		return b, nil
	}
	return ctxid.Append(b, ctxid.ID{Hi: id.hi, Lo: id.lo, Run: id.run}), nil
}

// MarshalText implements encoding.TextMarshaler. The error is always nil.
func (id ID) MarshalText() ([]byte, error) {
	return id.AppendText(nil)
}

// UnmarshalText implements encoding.TextUnmarshaler. It takes what MarshalText
// returns, also the empty text of the zero ID. After an error id is unchanged.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	c, err := ctxid.Parse(text)
	if err == nil {
		*id = ID{c.Hi, c.Lo, c.Run}
	}
	return err
}

// LogValue implements slog.LogValuer: an ID is logged as its text.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }
