module github.com/stemma-go/stemma/bench/programs/yaegi

go 1.25.0

require github.com/traefik/yaegi v0.16.1
