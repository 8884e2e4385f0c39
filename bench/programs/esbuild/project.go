package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// writer writes one random module: a program that no one needs to run, but
// with all that a parser, a scope analysis and a lowering pass have to do.
type writer struct {
	strings.Builder
	rng *rand.Rand
}

func moduleName(i int) string {
	if i == 0 {
		return "app/main"
	}
	return fmt.Sprintf("app/part%d", i)
}

// project returns n modules by name. Module i imports modules 2i+1 and 2i+2.
func project(n int) map[string]string {
	files := make(map[string]string, n)
	for i := range n {
		w := &writer{rng: rand.New(rand.NewPCG(uint64(i), 17))}
		w.module(i, n)
		files[moduleName(i)] = w.String()
	}
	return files
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

func (w *writer) module(i, n int) {
	var uses []string
	for _, j := range []int{2*i + 1, 2*i + 2} {
		if j < n {
			w.printf("import start%d, { Model%d as Base%d, type Row%d } from %q\n", j, j, j, j, moduleName(j))
			uses = append(uses, fmt.Sprintf("start%d(new Base%d())", j, j))
		}
	}
	w.printf("export type Row%d<K = string> = { [key in keyof K]?: K[key] } & { id: number }\n", i)
	w.printf("enum Mode%d { Off, On = 1 << 2, Both = On | 1 }\n", i)
	w.class(i)
	w.printf("export default function start%d(arg: any, ...more: any[]): any {\n", i)
	for range 10 {
		w.statement(3)
	}
	w.printf("return [arg, Mode%d.Both, %s]\n}\n", i, strings.Join(append(uses, "more"), ", "))
}

func (w *writer) class(i int) {
	w.printf("export class Model%d {\n#secret = %d; static count = 0; declare x: Row%d\n", i, i, i)
	w.printf("constructor(protected arg: any = 1, readonly more?: any[]) { Model%d.count++ }\n", i)
	w.printf("get secret() { return this.#secret ?? %s }\n", w.expr(3))
	for m := range 5 {
		w.printf("async run%d<T>(arg: T, { more = [], ...rest }: any = {}): Promise<T> {\n", m)
		w.statement(3)
		w.printf("this.#secret ||= await %s; return rest as T }\n", w.expr(4))
	}
	w.printf("}\n")
}

// statement writes a statement that nests at most depth levels of others.
func (w *writer) statement(depth int) {
	if depth == 0 {
		w.printf("arg = %s;\n", w.expr(4))
		return
	}
	switch w.rng.IntN(7) {
	case 0:
		w.printf("if (%s) {\n", w.expr(2))
		w.statement(depth - 1)
		w.printf("} else {\n")
		w.statement(depth - 1)
		w.printf("}\n")
	case 1:
		w.printf("for (const item of %s) {\n", w.expr(2))
		w.statement(depth - 1)
		w.printf("more.push(() => item); }\n")
	case 2:
		w.printf("try {\n")
		w.statement(depth - 1)
		w.printf("} catch { arg = null } finally { more.length = 0 }\n")
	case 3:
		w.printf("switch (%s) { case 1: arg++; break; case %s: { let arg = 2; more.push(arg) }\ndefault:\n", w.expr(1), w.expr(1))
		w.statement(depth - 1)
		w.printf("}\n")
	case 4:
		w.printf("while (arg?.next) { let { next: [first, ...others] } = arg; arg = first(others, %s) }\n", w.expr(3))
	case 5:
		w.printf("const view%d = <section {...arg} title=\"a &lt; b\"><b key={%s}>text {%s}</b></section>\n", w.Len(), w.expr(2), w.expr(3))
	default:
		w.printf("more[%d] = %s as any;\n", w.rng.IntN(9), w.expr(5))
	}
}

// expr returns an expression of at most the given depth.
func (w *writer) expr(depth int) string {
	if depth <= 0 {
		atoms := []string{"arg", "more", "1", "0x1f", "'text'", "null", "arg?.a?.[0]", "`t`", "/a+b/g"}
		return atoms[w.rng.IntN(len(atoms))]
	}
	sub := func() string { return w.expr(depth - 1 - w.rng.IntN(2)) }
	switch w.rng.IntN(9) {
	case 0:
		return "(" + sub() + " + " + sub() + " * 2)"
	case 1:
		return "(" + sub() + " ? " + sub() + " : " + sub() + ")"
	case 2:
		return "[..." + sub() + ", " + sub() + "]"
	case 3:
		return "({ a: " + sub() + ", ['k' + 1]: " + sub() + ", ..." + sub() + " })"
	case 4:
		return "((p: any, q = " + sub() + ") => (p ?? q))(" + sub() + ")"
	case 5:
		return "(" + sub() + " && !" + sub() + ")"
	case 6:
		return "`<${" + sub() + "}|${" + sub() + "}>`"
	case 7:
		return "(function* () { yield* " + sub() + " })()"
	default:
		return "(((" + sub() + ") as any)!.call(" + sub() + ") ** 2)"
	}
}
