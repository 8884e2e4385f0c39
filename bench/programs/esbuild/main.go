// Esbuild bundles a generated TypeScript project with esbuild: a recursive
// parser and printer with large functions, goroutines that parse and print in
// parallel, and plugin callbacks.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"hash"
	"os"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	n := flag.Int("n", 4, "how often the project is built")
	modules := flag.Int("modules", 150, "modules of the project")
	flag.Parse()
	files := project(*modules)
	sum := sha256.New()
	for i := range *n {
		if err := build(sum, files, i); err != nil {
			fmt.Fprintln(os.Stderr, "esbuild:", err)
			os.Exit(1)
		}
	}
	fmt.Printf("checksum esbuild %x\n", sum.Sum(nil)[:12])
}

// build makes one bundle with options that depend on i, then prints one module
// for itself, and adds all output to sum.
func build(sum hash.Hash, files map[string]string, i int) error {
	targets := []api.Target{api.ESNext, api.ES2019, api.ES2017}
	formats := []api.Format{api.FormatESModule, api.FormatCommonJS, api.FormatIIFE}
	result := api.Build(api.BuildOptions{
		EntryPoints:       []string{"app/main"},
		Bundle:            true,
		Outdir:            "/dist",
		AbsWorkingDir:     "/",
		Format:            formats[i%len(formats)],
		Target:            targets[i%len(targets)],
		MinifySyntax:      true,
		MinifyIdentifiers: i%2 == 1,
		MinifyWhitespace:  i%2 == 1,
		Sourcemap:         api.SourceMapExternal,
		Plugins:           []api.Plugin{memory(files)},
		LogLevel:          api.LogLevelSilent,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("build %d: %s", i, result.Errors[0].Text)
	}
	slices.SortFunc(result.OutputFiles, func(a, b api.OutputFile) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range result.OutputFiles {
		fmt.Fprintf(sum, "%s %x\n", f.Path, sha256.Sum256(f.Contents))
	}
	one := api.Transform(files[moduleName(i%len(files))], api.TransformOptions{
		Loader: api.LoaderTSX, Target: api.ES2017, JSX: api.JSXTransform, MinifySyntax: true,
	})
	if len(one.Errors) > 0 {
		return fmt.Errorf("transform %d: %s", i, one.Errors[0].Text)
	}
	_, err := sum.Write(one.Code)
	return err
}

// memory is a plugin that serves modules from files instead of from disk.
func memory(files map[string]string) api.Plugin {
	return api.Plugin{Name: "memory", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: "^app/"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: a.Path, Namespace: "memory"}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "memory"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			text, ok := files[a.Path]
			if !ok {
				return api.OnLoadResult{}, fmt.Errorf("no module %s", a.Path)
			}
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderTSX}, nil
		})
	}}
}
