package tree

import (
	"fmt"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestInuse compares what is reachable at the end of a program, or when it asks, with what it keeps in each context,
// and all of it with what runtime.MemStats and the heap profile say.
func TestInuse(t *testing.T) {
	exe := e2e.Build(t, "leak", "-metrics=calls,inuse")
	for _, env := range [][]string{{"GOGC=100"}, {"GOGC=1", "GOMAXPROCS=4"}, {"GOGC=off", "GOMAXPROCS=1"},
		{"GOGC=1", "GODEBUG=gccheckmark=1"}, {"COUNT=1"}} {
		t.Run(fmt.Sprint(env), func(t *testing.T) {
			r := e2e.Run(t, exe, env...)
			r.OK(t)
			if err := checkInuse(t, r, env[0] == "COUNT=1"); err != nil {
				t.Error(err)
			}
		})
	}
}

// nodeBytes is what a node of the program takes.
const nodeBytes = 48

// checkInuse checks one run.
func checkInuse(t *testing.T, r e2e.Result, asked bool) error {
	p := r.Read(t)
	e2e.NoLoss(t, p)
	var few, some, many, large, heapObjects, heapBytes, profObjects, profBytes uint64
	n, err := fmt.Sscanf(r.Stdout, "few %d some %d many %d large %d\n%d %d %d %d", &few, &some, &many, &large,
		&heapObjects, &heapBytes, &profObjects, &profBytes)
	if n != 8 && !asked || n < 4 {
		return fmt.Errorf("%w\n%s", err, r.Stdout)
	}
	const parts = 8 * 5000
	last := uint64(1) // what is stored where nothing is stored afterwards
	if !asked {
		last = 0
	}
	for f, want := range map[string]uint64{"main.fewOf": few, "main.someOf": some, "main.manyOf": many,
		"main.parallel.func1": parts, "main.work": few + some + many} {
		_, have := below(t, p, profile.InuseObjects, f, "main.node")
		_, bytes := below(t, p, profile.InuseSpace, f, "main.node")
		if have < want || have > want+last || bytes != nodeBytes*have {
			return fmt.Errorf("%s: %d objects of %d bytes are reachable, want %d", f, have, bytes, want)
		}
	}
	_, have := below(t, p, profile.InuseSpace, "main.work", "uint8")
	if have > large*106496+1<<20 || have < large*106496 {
		return fmt.Errorf("%d bytes of large objects, want %d", have, large*106496)
	}
	if _, have := below(t, p, profile.InuseObjects, "main.work", "main.tiny"); have < 1000 || have > 1020 {
		return fmt.Errorf("%d tiny objects, want 1000, and the others of the first and the last block", have)
	}
	if asked {
		return nil
	}
	// What the runtime has freed, or allocated, since the program asked, and what it allocated to begin a collection.
	const slack = 64
	_, nodes := below(t, p, profile.InuseObjects, "[main]", "main.node")
	if kept := few + some + many + parts; profObjects > nodes+slack || profObjects < kept || nodes > kept+slack ||
		profBytes < profObjects*nodeBytes || profBytes > (profObjects+slack)*nodeBytes {
		return fmt.Errorf("the heap profile has %d objects of %d bytes, the record has %d, the program %d", profObjects,
			profBytes, nodes, kept)
	}
	objects, bytes := p.Total(profile.InuseObjects), p.Total(profile.InuseSpace)
	tinies := uint64(1100) // of them some are in one block, which is one object of runtime.MemStats
	if objects+slack < heapObjects || objects > heapObjects+tinies+slack {
		return fmt.Errorf("%d objects are reachable, runtime.MemStats has %d", objects, heapObjects)
	}
	const thread = 8 << 10 // what the runtime allocates for one more: its m and two g
	if difference := int64(bytes - heapBytes); difference > slack*64+thread || difference < -slack*64 {
		return fmt.Errorf("%d bytes are reachable, runtime.MemStats has %d", bytes, heapBytes)
	}
	return nil
}
