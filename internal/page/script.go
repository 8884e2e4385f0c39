package page

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// The script is written as modules, which import from each other what they name in their first lines, and is served
// as one: the page's policy allows one, and a page in a file has no others. So a name at the top of a module
// is no other module's, and modules that use each other are in an order in which each comes behind those that
// it imports.

// mainModule is the module that imports the others.
const mainModule = "main.js"

// imported matches a line that imports, and what it imports from.
var imported = regexp.MustCompile(`(?m)^import \{([^}]*)\} from '\./([a-z]+\.js)';\n`)

// exported matches what an export begins with.
var exported = regexp.MustCompile(`(?m)^export `)

// script returns the modules as one script.
var script = sync.OnceValue(func() []byte {
	b := &bundle{seen: make(map[string]bool)}
	b.out.WriteString("'use strict';\n")
	if err := b.add(mainModule, nil); err != nil {
		panic(err) // it is in the binary, and tested
	}
	return []byte(b.out.String())
})

// A bundle is modules that become one.
type bundle struct {
	out  strings.Builder
	seen map[string]bool
}

// add adds a module behind those that it imports. within are those that import it.
func (b *bundle) add(name string, within []string) error {
	for _, outer := range within {
		if outer == name {
			return fmt.Errorf("%s: imports itself, by way of %s", name, strings.Join(within, ", "))
		}
	}
	if b.seen[name] {
		return nil
	}
	b.seen[name] = true
	text := string(asset(name))
	for _, m := range imported.FindAllStringSubmatch(text, -1) {
		if err := b.add(m[2], append(within[:len(within):len(within)], name)); err != nil {
			return err
		}
	}
	text = imported.ReplaceAllString(text, "")
	fmt.Fprintf(&b.out, "// %s\n%s", name, exported.ReplaceAllString(text, ""))
	return nil
}
