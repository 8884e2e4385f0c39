module github.com/stemma-go/stemma

go 1.26.0
