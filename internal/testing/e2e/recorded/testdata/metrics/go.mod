module example.com/shop

go 1.26.0

require github.com/stemma-go/stemma v0.0.0

replace github.com/stemma-go/stemma => ../../../../../..
