package base

import (
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// plainInShell are the characters that no shell takes for anything else.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@+,-"

// ShellWord returns a word as every shell reads it, whatever is in it.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, plainInShell) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Typed returns a path, or another word, for a command that a message tells the user to type: often between single
// quotes, so that double ones are used where they do. What is not printable is escaped, in a form that most shells
// read: $'a\nb'.
func Typed(s string) string {
	if profile.Printable(s) == s {
		if word := ShellWord(s); word == s || strings.ContainsAny(s, "\"$`\\!") {
			return word
		}
		return `"` + s + `"`
	}
	return "$'" + profile.Printable(strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)) + "'"
}

// TypedAll is Typed for several words of a command.
func TypedAll(words []string) string {
	typed := make([]string, len(words))
	for i, w := range words {
		typed[i] = Typed(w)
	}
	return strings.Join(typed, " ")
}
