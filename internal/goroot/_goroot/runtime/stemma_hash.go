//go:build go1.27

package runtime

import "internal/runtime/maps"

// stemmaHashInGo makes hashes of maps those that processors without AES have. Hashes by AES are others on each
// architecture, and with them the order of all maps with more than a group of entries.
func stemmaHashInGo() { maps.UseAeshash = false }
