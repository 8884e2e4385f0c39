package layout

// What a file of -module has reaches the compiler as one word of its options: in base64, as of the URLs, without
// padding, the name of the file, and then a line for each function of each rule:
//
//	LINE METRIC KIND WHICH PATTERN
//
// LINE is that of the file, METRIC the index of the metric, KIND one of those below, WHICH the index or the name of an
// argument or a result, and - for calls.
const (
	ModuleCount     = "count"      // adds 1 for each call
	ModuleArg       = "arg"        // adds an argument
	ModuleResult    = "result"     // adds a result
	ModuleLenArg    = "len-arg"    // adds the length of an argument
	ModuleLenResult = "len-result" // adds the length of a result
)

// ModuleAddFunc is the function of package runtime by which functions add to the metrics of such a file.
const ModuleAddFunc = "runtime.stemmaModuleAdd"

// MatchFunc reports whether a function has a name that a pattern of such a file has: path.F, path.T.F or path.(*T).F.
// In the pattern a * stands for any part of one name: none of the characters ./() are in it. Behind an open parenthesis
// it is the pointer's.
func MatchFunc(pattern, name string) bool {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '*' && (i == 0 || pattern[i-1] != '(') {
			for {
				if MatchFunc(pattern[i+1:], name) {
					return true
				}
				if name == "" || endsName(name[0]) {
					return false
				}
				name = name[1:]
			}
		}
		if name == "" || name[0] != pattern[i] {
			return false
		}
		name = name[1:]
	}
	return name == ""
}

// endsName reports whether c is in no name of a part of a path, of a type, or of a function.
func endsName(c byte) bool { return c == '.' || c == '/' || c == '(' || c == ')' }
