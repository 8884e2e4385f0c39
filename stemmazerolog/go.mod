module github.com/stemma-go/stemma/stemmazerolog

go 1.26.0

require (
	github.com/rs/zerolog v1.35.1
	github.com/stemma-go/stemma v0.0.0
)

require (
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	golang.org/x/sys v0.29.0 // indirect
)

replace github.com/stemma-go/stemma => ..
