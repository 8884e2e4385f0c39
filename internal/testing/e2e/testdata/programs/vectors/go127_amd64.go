//go:build goexperiment.simd && go1.27

package main

import "simd/archsimd"

type (
	vector  = archsimd.Float64x4
	numbers [4]float64
)

func load(p *numbers) vector     { return archsimd.LoadFloat64x4(p[:]) }
func store(v vector, p *numbers) { v.Store(p[:]) }
