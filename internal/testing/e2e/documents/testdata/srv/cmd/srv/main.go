// Command srv is the example of README.md and docs.
package main

import "example.com/srv/serve"

func main() { serve.Main() }
