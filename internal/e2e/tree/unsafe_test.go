package tree

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/e2e"
	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// TestIncrements looks at every increment of a counter in the machine code of gofmt:
// between the load of the shard and the increment the goroutine must not be preempted,
// at no instruction.
func TestIncrements(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "gofmt")
	if out, err := exec.Command(e2e.Tool(t), "build", "-o", exe, "cmd/gofmt").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command("go", "tool", "objdump", exe)
	listing, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &incrementChecker{unsafe: unsafePoints(t, exe)}
	for lines := bufio.NewScanner(listing); lines.Scan(); {
		c.line(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d increments in %d functions", c.increments, c.functions)
	if c.increments < 5_000 || c.functions < 1_000 {
		t.Errorf("%d increments in %d functions: the listing is not understood", c.increments, c.functions)
	}
	for _, f := range c.faults[:min(len(c.faults), 20)] {
		t.Error(f)
	}
	if n := len(c.faults); n > 20 {
		t.Errorf("and %d more", n-20)
	}
}

// An incrementChecker follows the shard through registers and stack slots, from the
// instruction that loads it to the increment, in the order in which code lies.
type incrementChecker struct {
	unsafe                func(pc uint64) bool
	function              string
	shards                map[string]*window // by place, a register say
	increments, functions int
	faults                []string
}

// A window begins behind the load of a shard. stop is the first instruction in it at
// which the goroutine may be preempted, 0 if there is none.
type window struct{ load, stop uint64 }

var (
	cellOperand    = fmt.Sprintf("%#x(R14)", layout.GCtx)
	shardOperand   = fmt.Sprintf("%#x(R14)", layout.GShard)
	counterOperand = regexp.MustCompile(`^0x6[0-9a-f]{7}\((\w+)\)(?:\((\w+)\*1\))?$`)
	objdumpLine    = regexp.MustCompile(`^\s+\S+:-?\d+\s+0x([0-9a-f]+)\s+[0-9a-f]+\s+(\S+)\s*(.*?)\s*$`)
)

// line looks at one line of the listing.
func (c *incrementChecker) line(s string) {
	if name, ok := strings.CutPrefix(s, "TEXT "); ok {
		c.function, _, _ = strings.Cut(name, "(SB)")
		c.shards = map[string]*window{}
		c.functions++
		return
	}
	m := objdumpLine.FindStringSubmatch(s)
	if m == nil {
		return
	}
	pc, _ := strconv.ParseUint(m[1], 16, 64)
	if !c.unsafe(pc) {
		for _, w := range c.shards {
			if w.stop == 0 {
				w.stop = pc
			}
		}
	}
	c.instruction(pc, m[2], strings.Split(m[3], ", "))
}

// instruction looks at one instruction; its last operand is what it writes.
func (c *incrementChecker) instruction(pc uint64, op string, args []string) {
	switch {
	case op == "CALL" || op == "JMP" || op == "RET":
		clear(c.shards)
		return
	case op[0] == 'J' || strings.HasPrefix(op, "CMP") || strings.HasPrefix(op, "TEST") ||
		strings.HasPrefix(op, "PREFETCH"):
		return
	}
	to := args[len(args)-1]
	if m := counterOperand.FindStringSubmatch(to); m != nil {
		c.increment(pc, c.shards[m[1]], c.shards[m[2]])
		return
	}
	from := c.source(op, args)
	switch {
	case args[0] == shardOperand:
		c.shards[to] = &window{load: pc}
	case from != nil:
		c.shards[to] = from
	case op != "ADDQ" && op != "INCQ" && op != "DECQ": // these keep what is there
		delete(c.shards, to)
	}
}

// source returns the shard that an instruction passes on, or nil.
func (c *incrementChecker) source(op string, args []string) *window {
	switch op {
	case "MOVQ", "ADDQ":
		return c.shards[args[0]]
	case "LEAQ":
		for _, reg := range regexp.MustCompile(`[A-Z]\w+`).FindAllString(args[0], -1) {
			if w := c.shards[reg]; w != nil {
				return w
			}
		}
	}
	return nil
}

func (c *incrementChecker) increment(pc uint64, shards ...*window) {
	c.increments++
	shards = slices.DeleteFunc(shards, func(w *window) bool { return w == nil })
	switch {
	case len(shards) == 0:
		c.faults = append(c.faults,
			fmt.Sprintf("%s: the increment at %#x has no shard that was loaded before it", c.function, pc))
	case shards[0].stop != 0:
		c.faults = append(c.faults,
			fmt.Sprintf("%s: preemption at %#x would come between the load of the shard at %#x and the "+
				"increment at %#x",
				c.function, shards[0].stop, shards[0].load, pc))
	}
}

// unsafePoints returns what the program's own table of unsafe points says, which is that
// of asynchronous preemption.
func unsafePoints(t *testing.T, exe string) func(pc uint64) bool {
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := f.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	text := syms[slices.IndexFunc(syms, func(s elf.Symbol) bool { return s.Name == "runtime.text" })].Value
	unsafe := readUnsafePoints(table, text)
	begins := slices.Sorted(maps.Keys(unsafe))
	return func(pc uint64) bool {
		i, ok := slices.BinarySearch(begins, pc)
		if !ok {
			i--
		}
		return i >= 0 && unsafe[begins[i]]
	}
}

// readUnsafePoints reads from a pclntab, as runtime/symtab.go does, where the unsafe points
// begin and end in each function.
func readUnsafePoints(table []byte, text uint64) map[uint64]bool {
	const (
		header    = 8  // magic, quantum, size of pointers
		funcData  = 28 // where in a function's entry the number of its tables is
		firstPCs  = 44 // where its tables are
		unsafePCs = 0  // abi.PCDATA_UnsafePoint
		isUnsafe  = -2 // abi.UnsafePointUnsafe
	)
	le := binary.LittleEndian
	word := func(i int) uint64 { return le.Uint64(table[header+8*i:]) }
	funcs, pcs, functab := word(0), table[word(6):], table[word(7):]
	unsafe := map[uint64]bool{}
	for i := range funcs {
		entry := text + uint64(le.Uint32(functab[8*i:]))
		f := functab[le.Uint32(functab[8*i+4:]):]
		unsafe[entry] = false
		if le.Uint32(f[funcData:]) <= unsafePCs || le.Uint32(f[firstPCs+4*unsafePCs:]) == 0 {
			continue
		}
		value, pc := int64(-1), entry
		for at := pcs[le.Uint32(f[firstPCs+4*unsafePCs:]):]; at[0] != 0 || pc == entry; {
			delta, n := binary.Uvarint(at)
			length, m := binary.Uvarint(at[n:])
			at = at[n+m:]
			value += int64(delta>>1) ^ -int64(delta&1)
			unsafe[pc] = value == isUnsafe
			pc += length
		}
		unsafe[pc] = false
	}
	return unsafe
}
