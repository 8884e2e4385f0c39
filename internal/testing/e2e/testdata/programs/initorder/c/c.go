// Package c takes notes.
package c

import "fmt"

// Notes are in order.
var Notes []string

// Note is called in the middle of initialisation.
//
//want:func example.com/e2e/initorder/c.Note 13
//go:noinline
func Note(s string) { Notes = append(Notes, s) }

//want:context [init];example.com/e2e/initorder/c.init.0;example.com/e2e/initorder/c.Note 1
func init() { Note("c.init") }

//want:context [init];example.com/e2e/initorder/c.init.1;example.com/e2e/initorder/c.Note 1
func init() { Note("c.init2") }

// A T is made by New.
type T struct{ name string }

// New is called by other packages' variables.
//
//go:noinline
func New(name string) *T { Note("c.New:" + name); return &T{name} }

// A Code is an error of which the compiler can make all but the text.
type Code struct{ text string }

func (c *Code) Error() string { return c.text }

func Coded(s string) error { return &Code{text: format(s)} }

//go:noinline
func format(s string) string { return fmt.Sprint("code ", s) }
