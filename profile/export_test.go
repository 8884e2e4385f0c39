package profile

import "bytes"

// Sections returns the sections of p's sealed file, uncompressed.
func Sections(p *Profile) (sections [][]byte, err error) {
	for kind := secProcesses; kind < secEnd; kind++ {
		sections = append(sections, p.section(kind))
	}
	return sections, p.CheckValid()
}

// Seal returns a sealed file with these sections.
func Seal(sections ...[]byte) []byte {
	var b bytes.Buffer
	b.WriteString(fileMagic + "\x01\x00\x00\x00\x00\x00\x00\x00")
	for i, raw := range append(sections, nil) {
		if err := writeSection(&b, secProcesses+i, raw); err != nil {
			panic(err) // a bytes.Buffer takes everything
		}
	}
	return b.Bytes()
}
