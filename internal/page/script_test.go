package page

import (
	"regexp"
	"strings"
	"testing"
)

// declared matches what a module declares at its top.
var declared = regexp.MustCompile(`(?m)^(?:export )?(?:async )?(?:function|class|const|let) ([\w$]+)`)

// Modules import what others export, and all of it; each is part of the script, and no two declare one name: they are
// served as one.
func TestModules(t *testing.T) {
	files, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	owner, exports, imports := map[string]string{}, map[string]bool{}, map[string]bool{}
	modules := 0
	for _, f := range files {
		name := f.Name()
		if !strings.HasSuffix(name, ".js") {
			continue
		}
		modules++
		text := string(asset(name))
		for _, m := range declared.FindAllStringSubmatch(text, -1) {
			if other := owner[m[1]]; other != "" {
				t.Errorf("%s: %s is one of %s, too", name, m[1], other)
			}
			owner[m[1]] = name
			if strings.HasPrefix(m[0], "export ") {
				exports[name+" "+m[1]] = true
			}
		}
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			for word := range strings.SplitSeq(m[1], ",") {
				word = strings.TrimSpace(word)
				imports[m[2]+" "+word] = true
				if uses := strings.Count(text, word); uses < 2 {
					t.Errorf("%s: %s is imported, and not used", name, word)
				}
			}
		}
		if !strings.Contains(string(script()), "// "+name+"\n") {
			t.Errorf("%s: no part of the script", name)
		}
		if n := strings.Count(text, "\n"); n > maxModule {
			t.Errorf("%s: %d lines, want at most %d", name, n, maxModule)
		}
	}
	for name := range imports {
		if !exports[name] {
			t.Errorf("%s is imported, and not exported", name)
		}
	}
	for name := range exports {
		if !imports[name] {
			t.Errorf("%s is exported for nobody", name)
		}
	}
	text := string(script())
	if strings.Contains(text, "\nimport ") || strings.Contains(text, "\nexport ") || modules < 10 {
		t.Errorf("of %d modules something is left of a module in the script", modules)
	}
}

// maxModule is how many lines a module may have.
const maxModule = 350
