package session

import (
	"strings"

	"github.com/stemma-go/stemma/bench/internal/measure"
)

// unavailable are the words with which stemma refuses an engine or a flag that
// it does not have.
var unavailable = []string{"not available in this version", "no such engine", "flag provided but not defined",
	"unknown flag"}

// IsAvailable tells whether err, of building v, has another reason than that this
// stemma lacks the engine. If it lacks it, that is one problem, however many
// programs would have been built.
func (s *Session) IsAvailable(v measure.Variant, err error) bool {
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

// Available tells whether v has not been found missing yet.
func (s *Session) Available(v measure.Variant) bool { return !s.missing[v.Name] }
