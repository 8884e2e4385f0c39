module github.com/stemma-go/stemma/bench/programs/staticcheck

go 1.25.0

require (
	golang.org/x/tools v0.41.0
	honnef.co/go/tools v0.6.1
)

require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.32.0 // indirect
	golang.org/x/sync v0.19.0 // indirect
	golang.org/x/tools/go/expect v0.1.1-deprecated // indirect
)
