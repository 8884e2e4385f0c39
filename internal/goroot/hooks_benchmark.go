package goroot

// benchmarkHooks are for the exact costs of benchmarks, see testing/stemma.go.
func benchmarkHooks() []Hook {
	const file = "testing/benchmark.go"
	return []Hook{
		{File: file, Decl: "func (b *B) runN", Part: Contexts,
			Anchor: "b.ResetTimer()", Where: Before,
			Lines: []string{"stemmaRun(b)"},
			Why:   "What the benchmark before has counted is not its own."},
		{File: file, Decl: "func (b *B) StartTimer", Part: Contexts,
			Anchor: "if !b.timerOn {", Where: Inside,
			Lines: []string{"stemmaStart(b)"},
			Why:   "What lies between start and stop counts, and nothing else."},
		{File: file, Decl: "func (b *B) StopTimer", Part: Contexts,
			Anchor: "b.timerOn = false", Where: After,
			Lines: []string{"stemmaStop(b)"},
			Why:   "What lies between start and stop counts, and nothing else."},
		{File: file, Decl: "func (b *B) ResetTimer", Part: Contexts,
			Anchor: "if b.timerOn {", Where: Before,
			Lines: []string{"stemmaReset(b)"},
			Why:   "What came before does not count, and reading the counters takes time."},
		{File: file, Decl: "func (b *B) run", Part: Contexts,
			Anchor: `fmt.Fprintf(b.w, "goos: %s\n", runtime.GOOS)`, Where: Before,
			Lines: []string{"stemmaUnits(b.w)"},
			Why:   "Who compares results has to know which are exact."},
		{File: file, Decl: "func (s *benchState) processBench", Part: Contexts,
			Anchor: "fmt.Fprintln(b.w, results)", Where: Before,
			Lines: []string{"results = stemmaResult(b, results)"},
			Why:   "The results are those of plain Go, which has not counted."},
	}
}
