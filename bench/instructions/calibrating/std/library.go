package main

import (
	"bytes"
	"compress/lzw"
	"container/heap"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"index/suffixarray"
	"io"
	"math/rand"
	"net/netip"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// must is for errors that cannot be.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// prose returns text of so many bytes, with words that come again.
func prose(size int) []byte {
	r := rand.New(rand.NewSource(1))
	var b bytes.Buffer
	for b.Len() < size {
		for range 2 + r.Intn(9) {
			b.WriteByte(byte('a' + r.Intn(1+r.Intn(26))))
		}
		b.WriteByte(" \n,"[r.Intn(3)])
	}
	return b.Bytes()[:size]
}

// suffixes sorts the suffixes of a text and looks words up.
func suffixes() []byte {
	text := prose(300_000)
	index := suffixarray.New(text)
	var out []byte
	for at := 0; at+6 < len(text); at += 97 {
		out = binary.AppendUvarint(out, uint64(len(index.Lookup(text[at:at+6], -1))))
	}
	return out
}

// pictures draws, encodes and decodes.
func pictures() []byte {
	m := image.NewRGBA(image.Rect(0, 0, 320, 240))
	for y := range 240 {
		for x := range 320 {
			m.Set(x, y, color.RGBA{uint8(x * y), uint8(x + y), uint8(x ^ y), 255})
		}
	}
	var b, c bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 85}); err != nil {
		panic(err)
	}
	back := must(jpeg.Decode(bytes.NewReader(b.Bytes())))
	draw.Draw(m, m.Bounds(), back, image.Point{}, draw.Over)
	if err := gif.Encode(&c, m, &gif.Options{NumColors: 32}); err != nil {
		panic(err)
	}
	must(gif.Decode(bytes.NewReader(c.Bytes())))
	return append(b.Bytes(), c.Bytes()...)
}

// words compresses and expands.
func words() []byte {
	text := prose(500_000)
	var b bytes.Buffer
	w := lzw.NewWriter(&b, lzw.LSB, 8)
	must(w.Write(text))
	if err := w.Close(); err != nil {
		panic(err)
	}
	back := must(io.ReadAll(lzw.NewReader(bytes.NewReader(b.Bytes()), lzw.LSB, 8)))
	return []byte(base64.StdEncoding.EncodeToString(back))
}

// An item is what is encoded.
type item struct {
	Name  string            `json:"name" xml:"name,attr"`
	Count int               `json:"count" xml:"count"`
	Ratio float64           `json:"ratio" xml:"ratio"`
	Tags  []string          `json:"tags" xml:"tag"`
	Extra map[string]string `json:"extra,omitempty" xml:"-"`
	Child *item             `json:"child,omitempty" xml:"child"`
}

func items(n int) []item {
	r := rand.New(rand.NewSource(2))
	list := make([]item, n)
	for i := range list {
		list[i] = item{Name: fmt.Sprintf("item-%d", i), Count: r.Intn(1e9), Ratio: r.Float64(),
			Tags: []string{"a", "b<c", strconv.Itoa(i)}, Child: &item{Name: "child", Count: i}}
		if i%7 == 0 {
			list[i].Extra = map[string]string{"key": "välue", "other": "\n"}
		}
	}
	return list
}

func objects() []byte {
	b := must(json.Marshal(items(5000)))
	var back []item
	if err := json.Unmarshal(b, &back); err != nil {
		panic(err)
	}
	var any any
	if err := json.Unmarshal(b, &any); err != nil {
		panic(err)
	}
	var c bytes.Buffer
	if err := json.Indent(&c, b, "", "  "); err != nil {
		panic(err)
	}
	return c.Bytes()
}

func elements() []byte {
	b := must(xml.Marshal(struct {
		XMLName xml.Name `xml:"list"`
		Items   []item   `xml:"item"`
	}{Items: items(2000)}))
	var back struct {
		Items []item `xml:"item"`
	}
	if err := xml.Unmarshal(b, &back); err != nil {
		panic(err)
	}
	return b
}

func gobs() []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(items(6000)); err != nil {
		panic(err)
	}
	n := b.Len()
	var back []item
	if err := gob.NewDecoder(&b).Decode(&back); err != nil {
		panic(err)
	}
	return binary.AppendUvarint(nil, uint64(n+len(back)))
}

func records() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, it := range items(40_000) {
		if err := w.Write([]string{it.Name, strconv.Itoa(it.Count), "a \"quoted\", one"}); err != nil {
			panic(err)
		}
	}
	w.Flush()
	all := must(csv.NewReader(&b).ReadAll())
	return []byte(fmt.Sprint(len(all), all[77]))
}

// floats prints and reads numbers.
func floats() []byte {
	r := rand.New(rand.NewSource(3))
	var out []byte
	for range 40_000 {
		x := r.NormFloat64() * float64(r.Int63())
		out = strconv.AppendFloat(out[:0], x, 'g', -1, 64)
		y := must(strconv.ParseFloat(string(out), 64))
		out = strconv.AppendInt(append(out, ' '), int64(y)>>1+r.Int63(), 10)
	}
	return out
}

func sorted() []byte {
	r := rand.New(rand.NewSource(4))
	keys := make([]string, 40_000)
	numbers := make([]int, 200_000)
	for i := range keys {
		keys[i] = strconv.Itoa(r.Int())
	}
	for i := range numbers {
		numbers[i] = r.Int()
	}
	sort.Strings(keys)
	sort.Sort(sort.Reverse(sort.IntSlice(numbers)))
	sort.SliceStable(numbers, func(i, k int) bool { return numbers[i]&0xffff < numbers[k]&0xffff })
	return []byte(strings.Join(keys[:100], strconv.Itoa(numbers[5])))
}

func times() []byte {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	var out []byte
	for i := range 40_000 {
		at = at.Add(time.Duration(i) * 12_345_678_901)
		text := at.Format(time.RFC1123Z)
		back := must(time.Parse(time.RFC1123Z, text))
		out = back.AppendFormat(out[:0], time.StampMicro)
	}
	return out
}

func urls() []byte {
	n := 0
	for i := range 12_000 {
		u := must(url.Parse(fmt.Sprintf("https://user@example.org:8080/a%%20b/%d?q=%d&r=%%ff#frag", i, i*i)))
		n += len(u.Query().Encode()) + len(u.String())
		a := must(netip.ParseAddr(fmt.Sprintf("2001:db8::%x:%x", i, i>>3)))
		n += len(a.String())
	}
	return binary.AppendUvarint(nil, uint64(n))
}

func columns() []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 4, 8, 1, ' ', tabwriter.AlignRight)
	replace := strings.NewReplacer("item", "part", "-", "+", "<", "&lt;")
	for _, it := range items(8000) {
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%q\t%x\n", replace.Replace(it.Name), it.Count, it.Ratio, it.Tags, it.Count)
	}
	if err := w.Flush(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// A queue has the least number first.
type queue []int

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, k int) bool { return q[i] < q[k] }
func (q queue) Swap(i, k int)      { q[i], q[k] = q[k], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(int)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func heaps() []byte {
	r := rand.New(rand.NewSource(5))
	q := &queue{}
	sum := 0
	for range 100_000 {
		heap.Push(q, r.Int())
		if r.Intn(3) == 0 {
			sum ^= heap.Pop(q).(int)
		}
	}
	for q.Len() > 0 {
		sum = sum*3 + heap.Pop(q).(int)
	}
	return binary.AppendVarint(nil, int64(sum))
}
