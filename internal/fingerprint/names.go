package fingerprint

import "strings"

// function returns the number of the function with a name.
func (t *Tree) function(name string) uint32 {
	fn, ok := t.byName[name]
	if ok {
		return fn
	}
	if t.byName == nil {
		t.byName = make(map[string]uint32)
	}
	fn = uint32(len(t.funcs))
	t.byName[name] = fn
	pkg := packageOf(name)
	f := function{name: exported(name), standard: isStandard(pkg)}
	f.text = f.name
	f.runtime = pkg == "runtime" || strings.HasPrefix(pkg, "internal/runtime/")
	switch rest, unnamed := strings.CutPrefix(name, "plugin/unnamed-"); {
	case f.standard:
		f.text = unnumbered(name)
	case unnamed && strings.Contains(rest, "."):
		f.text = "plugin/unnamed" + rest[strings.IndexByte(rest, '.'):]
	}
	t.funcs = append(t.funcs, f)
	return fn
}

// packageOf returns the package of a function. Type arguments are left out of names, so that only a path has slashes.
func packageOf(name string) string {
	if strings.ContainsAny(name, " ({") && strings.IndexAny(name, " ({") < strings.IndexByte(name, '.') {
		return "" // what stands for a type
	}
	slash := strings.LastIndexByte(name, '/')
	dot := strings.IndexByte(name[slash+1:], '.')
	if dot < 0 {
		return ""
	}
	return name[:slash+1+dot]
}

// unnumbered returns the name of a function without the numbers of closures in it.
func unnumbered(name string) string {
	outer := strings.TrimRight(name, "0123456789")
	if len(outer) == len(name) {
		return name
	}
	for _, suffix := range []string{".func", "-range", ".gowrap", ".deferwrap", "."} {
		if strings.HasSuffix(outer, suffix) {
			return unnumbered(strings.TrimSuffix(outer, suffix)) + suffix
		}
	}
	return name
}

// exported returns the name of a function without the hash that cgo makes of the text of its files, in what it makes
// for a function that C calls: _cgoexp_0123456789ab_f.
func exported(name string) string {
	for _, prefix := range []string{"_cgoexp_", "_cgoexpwrap_"} {
		i := strings.Index(name, prefix)
		if i < 0 || i > 0 && name[i-1] != '.' {
			continue
		}
		hash, f, ok := strings.Cut(name[i+len(prefix):], "_")
		if ok && len(hash) == 12 && strings.Trim(hash, "0123456789abcdef") == "" {
			return name[:i] + prefix + f
		}
	}
	return name
}

// isStandard reports whether a package is one of the standard library. The table has its public ones only: whatever
// lies in a directory internal or vendor beside or below one of these is as well.
func isStandard(pkg string) bool {
	if strings.Contains(packages, "\n"+pkg+"\n") {
		return pkg != ""
	}
	for _, dir := range []string{"/internal/", "/vendor/"} {
		if i := strings.Index("/"+pkg+"/", dir); i == 0 ||
			i > 0 && (isStandard(pkg[:i-1]) || strings.Contains(packages, "\n"+pkg[:i-1]+"/")) {
			return true
		}
	}
	return false
}
