// Package sqltest asks DuckDB what docs asks it, in tests.
//
// It is a module of its own: stemma-fleet requires no database for it.
package sqltest
