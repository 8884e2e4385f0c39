//go:build !go1.27

package runtime

// stemmaHashInGo makes hashes of maps those that processors without AES have. Hashes by AES are others on each
// architecture, and with them the order of all maps with more than a group of entries. The keys are those of no
// processor: alginit draws them at different times, or not at all.
func stemmaHashInGo() {
	useAeshash = false
	for i := range hashkey {
		hashkey[i] = uintptr(0x9e3779b97f4a7c15) * uintptr(2*i+1)
	}
}
