package ssa

import rec "internal/runtime/stemma/layout"

// Pass branchelim puts what is on the ways from a branch to where they meet into the block of the branch, and selects
// among the results, if that is little. It does so from within: what it has put together may be on a way itself.

// A stemmaJoined is a block with those that pass branchelim puts into it.
type stemmaJoined struct {
	blocks []*Block
	values []*Value // up to stemmaFew and one more: then there are too many
	end    *Block   // how the last of them ends is how all of them do
}

// stemmaFew is how many values may be on a way.
const stemmaFew = 2

// add adds values.
func (j *stemmaJoined) add(values ...*Value) {
	for _, v := range values {
		if len(j.values) > stemmaFew {
			return
		}
		j.values = append(j.values, v)
	}
}

// leads reports whether nothing leads here but one block, and from here one way only.
func (j *stemmaJoined) leads() bool {
	return j != nil && len(j.blocks[0].Preds) == 1 && j.end.Kind == BlockPlain
}

// selections finds the branches that become selections, and moves the operations on their ways to where they branch.
func (c *stemmaCounter) selections(f *Func) map[*Block]bool {
	addresses := stemmaAddresses(f)
	defer f.retSparseSet(addresses)
	joined, selected := map[*Block]*stemmaJoined{}, map[*Block]bool{}
	for _, b := range f.Blocks {
		joined[b] = &stemmaJoined{blocks: []*Block{b}, end: b}
		joined[b].add(b.Values...)
	}
	for changed := true; changed; {
		changed = false
		for _, b := range f.Blocks {
			j := joined[b]
			if j == nil || !stemmaBranches(j.end) || j.end.Likely != BranchUnknown {
				continue
			}
			arms, post := stemmaWays(j.end, joined)
			if post == nil || post == b || !stemmaSelects(arms, post, addresses) {
				continue
			}
			selected[j.end] = true
			c.join(b, j, arms, joined[post])
			for _, arm := range arms {
				delete(joined, arm.blocks[0])
			}
			delete(joined, post)
			changed = true
		}
	}
	return selected
}

// stemmaWays returns what is on the ways from the end of b to the block in which they meet again, if there is one.
func stemmaWays(b *Block, joined map[*Block]*stemmaJoined) (arms []*stemmaJoined, post *Block) {
	for _, e := range b.Succs {
		to := e.b
		if arm := joined[to]; arm.leads() {
			arms = append(arms, arm)
			to = arm.end.Succs[0].b
		}
		if post != nil && to != post {
			return nil, nil
		}
		post = to
	}
	if len(arms) == 0 || joined[post] == nil || len(post.Preds) != 2 {
		return nil, nil
	}
	return arms, post
}

// stemmaSelects reports whether the ways become selections on the machine that selects least.
func stemmaSelects(arms []*stemmaJoined, post *Block, addresses *sparseSet) bool {
	phis := 0
	for _, v := range post.Values {
		if v.Op != OpPhi {
			continue
		}
		if !canCondSelect(v, stemmaLeastSelections, addresses) {
			return false
		}
		phis++
	}
	most := stemmaFew
	if len(arms) == 2 {
		most = 1
	}
	for _, arm := range arms {
		if len(arm.values) > most || !canSpeculativelyExecute(&Block{Values: arm.values}) {
			return false
		}
	}
	return phis > 0 && (phis == 1 || len(arms) == 1)
}

// join joins b with what is on the ways from it, and with where they meet.
func (c *stemmaCounter) join(b *Block, j *stemmaJoined, arms []*stemmaJoined, post *stemmaJoined) {
	for _, arm := range arms {
		for _, from := range arm.blocks {
			for _, o := range c.ops[from.ID] {
				c.ops[b.ID].add(o.Inlined, o.Class, o.n)
			}
			c.ops[from.ID] = nil
		}
		j.blocks = append(j.blocks, arm.blocks...)
		j.add(arm.values...)
	}
	j.blocks = append(j.blocks, post.blocks...)
	for _, v := range post.blocks[0].Values {
		if v.Op == OpPhi && !v.Type.IsMemory() {
			c.ops[b.ID].add(stemmaInlinedAt(v.Pos), rec.OpInt, 1)
			j.add(&Value{Op: OpCondSelect, Type: v.Type, Args: v.Args})
		}
	}
	for _, v := range post.values {
		if v.Op != OpPhi {
			j.add(v)
		}
	}
	j.end = post.end
}

// stemmaAddresses returns the values that the addresses of loads are made of: they are not selected.
func stemmaAddresses(f *Func) *sparseSet {
	set := f.newSparseSet(f.NumValues())
	var work []*Value
	add := func(v *Value) {
		if !set.contains(v.ID) {
			set.add(v.ID)
			work = append(work, v)
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			switch {
			case v.Op == OpMove:
				add(v.Args[1])
			case v.Op == OpLoad || stemmaIs(v, "AtomicLoad"):
				add(v.Args[0])
			}
		}
	}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		for _, a := range v.Args {
			if a.Type.IsInteger() || a.Type.IsPtr() || a.Type.IsUnsafePtr() {
				add(a)
			}
		}
	}
	return set
}
