module github.com/stemma-go/stemma/stemmalogrus

go 1.26.0

require (
	github.com/sirupsen/logrus v1.10.2
	github.com/stemma-go/stemma v0.0.0
)

require golang.org/x/sys v0.13.0 // indirect

replace github.com/stemma-go/stemma => ..
