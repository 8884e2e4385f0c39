// The settings of sampling: STEMMA_SAMPLING in the environment, in front of those of
// the build. A setting that means nothing is ignored, so that the program runs as it was
// built, and that is said once, when it starts.

package runtime

import (
	"internal/runtime/stemma/layout"
	"internal/stringslite"
)

// stemmaSettings are the settings that there are, and what they take.
var stemmaSettings = [...]struct {
	key, want string
	valid     func(value string) bool
}{
	{"every", "a time from 10us on, as 10ms", func(v string) bool { return stemmaDuration(v) >= 10e3 }},
	{"sampler", "jvmti, stw, sps or isps", func(v string) bool {
		i := stemmaIndex(layout.SamplerNames[:], v, 0)
		return i != 0 && i != layout.SamplerACCT
	}},
	{"walk", "unwinder, fp, incremental or marker",
		func(v string) bool { return stemmaIndex(layout.WalkNames[:], v, 0) != 0 }},
	{"waiting", "on or off", stemmaOnOff},
	{"sample-at", "signal or prologue", func(v string) bool { return v == "signal" || v == "prologue" }},
	{"start", "on or off", stemmaOnOff},
}

func stemmaOnOff(v string) bool { return v == "on" || v == "off" }

// stemmaSampleOption returns the value of a key: that of the environment variable
// STEMMA_SAMPLING, which has the same form as the options of the build, or, if it has none
// or one that is not valid, that of the build.
func stemmaSampleOption(key string) string {
	v := stemmaValue(stemmaEnv("STEMMA_SAMPLING"), key)
	if v == "" && key == "sample-at" {
		_, v = stemmaPresentSetting("ask", stemmaValue(stemmaEnv("STEMMA_SAMPLING"), "ask"))
	}
	if v != "" && stemmaSettingWants(key, v) == "" {
		return v
	}
	return stemmaOption(key)
}

// stemmaPresentSetting returns a setting as it is called now: it may have its former name, for one release.
func stemmaPresentSetting(key, value string) (string, string) {
	if key == "ask" {
		key = "sample-at"
		if value == "guard" {
			value = "prologue"
		}
	}
	return key, value
}

// stemmaSettingWants returns what a setting should be, "" if it is that.
func stemmaSettingWants(key, value string) string {
	acct, contexts := stemmaAccumulates(), stemmaCPUOn()
	for i := range stemmaSettings {
		s := &stemmaSettings[i]
		switch {
		case s.key != key:
		case acct && key != "start":
			return "nothing: the accumulator takes its samples at calls"
		case contexts && key != "start" && key != "every":
			return "nothing: the time on CPU of contexts has every and start alone"
		case !s.valid(value):
			return s.want
		case key == "walk" && !stemmaFits(value):
			return "a walk that the sampler can do: incremental or marker for isps, unwinder or fp for others"
		case key == "sample-at" && value == "prologue" && stemmaSampleOption("sampler") == "jvmti":
			return "signal: jvmti samples where the world stops"
		case key == "sampler" && value == "jvmti" && stemmaOption("sample-at") == "prologue" && !stemmaSaysWhere():
			return "another one, or sample-at=signal as well: jvmti samples where the world stops"
		default:
			return ""
		}
	}
	return "one of every, sampler, walk, waiting, sample-at and start"
}

// stemmaSaysWhere reports whether the environment has a place to sample at, so that the build's does not count.
func stemmaSaysWhere() bool {
	list := stemmaEnv("STEMMA_SAMPLING")
	return stemmaValue(list, "sample-at") != "" || stemmaValue(list, "ask") != ""
}

// stemmaFits reports whether the sampler that is asked for can walk like this.
func stemmaFits(walk string) bool {
	isps := stemmaIndex(layout.SamplerNames[:], stemmaSampleOption("sampler"), layout.SamplerISPS) == layout.SamplerISPS
	return isps == (stemmaIndex(layout.WalkNames[:], walk, 0) >= layout.WalkIncremental)
}

// stemmaCheckSettings says which settings in the environment are ignored, and which have a former name.
func stemmaCheckSettings() {
	ignored := 0
	for list := stemmaEnv("STEMMA_SAMPLING"); list != ""; {
		var word string
		word, list, _ = stringslite.Cut(list, ",")
		typed, value, _ := stringslite.Cut(word, "=")
		key, value := stemmaPresentSetting(typed, value)
		want := stemmaSettingWants(key, value)
		if want == "" || word == "" {
			continue
		}
		if ignored++; ignored == 1 {
			stemmaLine.add("stemma: in STEMMA_SAMPLING, these settings are ignored: ")
		} else {
			stemmaLine.add("; ")
		}
		stemmaLine.add(word[:min(len(word), 60)])
		stemmaLine.add(" (want ")
		stemmaLine.add(want)
		stemmaLine.add(")")
	}
	if ignored > 0 {
		stemmaSay()
	}
	stemmaSayFormer()
}

// stemmaSayFormer says of the first setting with a former name how it is called now.
func stemmaSayFormer() {
	for list := stemmaEnv("STEMMA_SAMPLING"); list != ""; {
		var word string
		word, list, _ = stringslite.Cut(list, ",")
		typed, value, _ := stringslite.Cut(word, "=")
		key, value := stemmaPresentSetting(typed, value)
		if key == typed || stemmaSettingWants(key, value) != "" {
			continue
		}
		for _, part := range [...]string{"stemma: in STEMMA_SAMPLING, ", word, " is called ", key, "=", value,
			" now; the next release does not take the former name"} {
			stemmaLine.add(part)
		}
		stemmaSay()
		return
	}
}
