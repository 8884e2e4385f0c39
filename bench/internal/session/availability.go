package session

import (
	"strings"

	"github.com/stemma-go/stemma/bench/internal/measure"
)

// unavailable are the words with which stemma refuses an engine or a flag that
// it does not have.
var unavailable = []string{"not available in this version", "no such engine", "flag provided but not defined",
	"unknown flag"}

// Failed makes a problem of err, which building or running v of a program has ended with. If this stemma lacks the
// engine, that is one problem, however many programs would have been built.
func (s *Session) Failed(program string, v measure.Variant, err error) {
	if s.isAvailable(v, err) {
		s.Problem("%s, %s: %v", program, v.Name, err)
	}
}

// isAvailable reports whether err, of building v, has another reason than that this
// stemma lacks the engine. The first time that is a problem.
func (s *Session) isAvailable(v measure.Variant, err error) bool {
	if !v.Instrumented() {
		return true
	}
	for _, words := range unavailable {
		if strings.Contains(err.Error(), words) {
			s.Problem("%s: not measured: this stemma does not have it", v.Name)
			s.missing[v.Name] = true
			return false
		}
	}
	return true
}

// Available reports whether v has not been found missing yet.
func (s *Session) Available(v measure.Variant) bool { return !s.missing[v.Name] }
