package sample

// Fewest is how many goroutines are looked at in one tick at least, if as many wait: in a program with few of them all.
const Fewest = 8

// Share divides samples between running threads and waiting goroutines by their numbers, but at least one and Fewest of
// each (Hofer, Gnedt and Mössenböck, section 3.1): there are as many as Ps in each interval, and some intervals have
// passed. Who is not chosen is made up for: a thread's clock runs on until its next sample, and a waiting goroutine's
// sample stands for several.
func Share(ps, running, waiting, intervals int) (threads, goroutines int) {
	if running > 0 {
		threads = min(running, max(1, ps*running/(running+waiting)))
	}
	if waiting > 0 {
		goroutines = min(waiting, max(Fewest, (ps-threads)*intervals))
	}
	return threads, goroutines
}
