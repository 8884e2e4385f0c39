module github.com/stemma-go/stemma/bench/programs/gopherlua

go 1.25.0

require github.com/yuin/gopher-lua v1.1.2
