module github.com/stemma-go/stemma

go 1.26.0

require (
	github.com/google/pprof v0.0.0-20230207041349-798e818bf904
	golang.org/x/tools v0.51.0
)

require (
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
)
