package replay

import (
	"fmt"
	"io"
	"os"

	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/safefile"
)

// A Source opens one file or live directory, as often as is asked for, or standard
// input once.
type Source struct {
	stdin io.Reader
	path  string
	files []io.Closer
	used  bool
	live  *record.Record // if path is a directory
}

// NewSource returns the source at a path, or for "-" standard input.
func NewSource(path string, stdin io.Reader) *Source { return &Source{path: path, stdin: stdin} }

// Open returns a reader of the events from the first one on.
func (s *Source) Open() (*Reader, error) {
	if s.path == "-" {
		if s.used {
			return nil, ErrReadOnce
		}
		s.used = true
		return NewReader(s.stdin, "standard input")
	}
	if info, err := os.Stat(s.path); err == nil && info.IsDir() {
		return s.recorded()
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, f)
	return NewReader(f, s.path)
}

// recorded returns a reader of the calls in a live directory. The tree is read once.
func (s *Source) recorded() (*Reader, error) {
	var err error
	if s.live == nil {
		if s.live, err = record.Open(safefile.Files(s.path)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
	}
	r, err := NewRecorded(s.live, s.path)
	if err == nil {
		s.files = append(s.files, r)
	}
	return r, err
}

// Close closes what was opened.
func (s *Source) Close() {
	for _, f := range s.files {
		f.Close()
	}
}
