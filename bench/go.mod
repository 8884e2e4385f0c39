module github.com/stemma-go/stemma/bench

go 1.26.0
