package decode

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/ctxid"
)

// Translate copies a text and replaces the IDs in it; what there is to say goes to notes. The program that writes the
// text may begin after this one, so that it is no error before the end if there is no record. Where records are
// fetched, none is there before an ID asks for it, and a text without IDs wants none.
func (set *Set) Translate(w, notes io.Writer, text io.Reader, format Format) error {
	var before error
	if set.Fetch == nil {
		before = set.Empty()
	}
	if before != nil {
		fmt.Fprintf(notes, "stemma: no record yet: %v; waiting for IDs and their record\n", before)
	}
	r := NewReplacer(w, set, format)
	if err := r.Copy(text); err != nil {
		return err
	}
	r.Summarize(notes)
	err := set.Empty()
	switch {
	case err == nil || set.Fetch != nil && r.unknown == 0:
		return nil
	case set.Fetch != nil:
		return errors.New("no ID of the text has a record in the store")
	case before != nil:
		return errors.New("the text has ended, and there is still no record")
	}
	return err
}

// WriteStacks prints the stack of each ID, all that can be decoded. The reason for each one that cannot goes to notes,
// and the exit code is 1 then: who names an ID wants it decoded, where a log may have others in it.
func (set *Set) WriteStacks(out, notes io.Writer, format Format, ids []string) error {
	w := bufio.NewWriter(out)
	refused := 0
	for _, text := range ids {
		id, err := ctxid.Parse(text)
		if err == nil {
			err = set.writeStack(w, format, text, id)
		}
		if err != nil {
			refused++
			fmt.Fprintf(notes, "stemma: %s: %v\n", text, err)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	set.reportCollisions(notes)
	if refused > 0 {
		return &base.Error{Code: base.ExitFailure}
	}
	return nil
}

// writeStack prints one stack, in several lines below its ID.
func (set *Set) writeStack(w io.Writer, format Format, text string, id ctxid.ID) error {
	s, err := set.Decode(id)
	if err != nil {
		return err
	}
	b := []byte(text + "\n")
	if format != FormatStack {
		b = nil
	}
	if b = set.append(b, format, s, "\t"); format != FormatStack && format != formatCounted {
		b = append(b, '\n')
	}
	_, err = w.Write(b)
	return err
}
