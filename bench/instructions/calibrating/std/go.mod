module github.com/stemma-go/stemma/bench/instructions/calibrating/std

go 1.26.0
