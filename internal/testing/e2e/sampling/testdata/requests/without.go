//go:build !nethttp

package main

// handler asks nobody: without the tag nethttp the program is built at once.
func handler() {}
