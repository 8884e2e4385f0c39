package segment

import "testing"

func TestParseRotation(t *testing.T) {
	const hour = 3600e9
	for s, want := range map[string]Rotation{
		"1h":               {Every: hour, Keep: MostKept},
		"90s,512MiB":       {Every: 90e9, Bytes: 512 << 20, Keep: MostKept},
		"100ms,7d,100":     {Every: 1e8, Keep: 100, Age: 7 * 24 * hour},
		"1h,1GB,65536,30d": {Every: hour, Bytes: 1e9, Keep: MostKept, Age: 30 * 24 * hour},
	} {
		if got, ok := ParseRotation(s); !ok || got != want {
			t.Errorf("%q is %+v, %v, want %+v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", ",", "1h,", ",1h", "1", "100", "1MiB", "0s", "1h,0", "1h,65537", "1h,1h,1h",
		"1h,5,5",
		"1h,1MiB,1MiB", "h", "1y", "1H", "-1h", "1.5h", "1h 5", "999999999999999d", "1h,99999999999999999999"} {
		if got, ok := ParseRotation(s); ok {
			t.Errorf("%q is %+v, want an error", s, got)
		}
	}
}
