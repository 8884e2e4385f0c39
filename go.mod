module github.com/stemma-go/stemma

go 1.26.0

require (
	github.com/google/pprof v0.0.0-20230207041349-798e818bf904
	golang.org/x/tools v0.51.0
)
