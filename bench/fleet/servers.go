package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Versions of the servers, all of the module proxy.
const (
	pyroscope    = "github.com/grafana/pyroscope@v1.12.0"
	pyroscopeAPI = "github.com/grafana/pyroscope/api@v1.2.0" // of that time; the module replaces it by a directory
	minio        = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"
	builder      = "go.opentelemetry.io/collector/cmd/builder@v0.165.0"
	components   = "v0.165.0"
	stable       = "v1.71.0" // of the collector's modules that promise compatibility
)

// buildServers builds the servers that are not in dir. They are large: this takes half an hour on two CPUs.
func buildServers(ctx context.Context, o options) error {
	dir := o.servers
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, s := range []struct {
		name  string
		build func(ctx context.Context, dir, tmp string) error
	}{{"pyroscope", buildPyroscope}, {"minio", buildMinIO}, {"otelcol", buildCollector}} {
		if _, err := os.Stat(filepath.Join(dir, s.name)); !errors.Is(err, fs.ErrNotExist) ||
			s.name == "otelcol" && o.otlp == "" {
			continue
		}
		fmt.Fprintln(os.Stderr, "fleet: building", s.name)
		tmp, err := os.MkdirTemp(dir, s.name+"-")
		if err != nil {
			return err
		}
		err = s.build(ctx, dir, tmp)
		if err = errors.Join(err, os.RemoveAll(tmp)); err != nil {
			return fmt.Errorf("build %s: %w", s.name, err)
		}
	}
	return nil
}

// command runs a command in a directory outside of the module of bench, and returns what it prints.
func command(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "PWD="+dir), env...)
	text, err := cmd.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		err = fmt.Errorf("%s: %w\n%s", filepath.Base(args[0]), err, failed.Stderr)
	}
	return text, err
}

// buildPyroscope builds a copy of its module, with its replace lines, which count in a main module only.
func buildPyroscope(ctx context.Context, dir, tmp string) error {
	text, err := command(ctx, tmp, nil, "go", "mod", "download", "-json", pyroscope)
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(text, &module); err != nil {
		return err
	}
	tree := filepath.Join(tmp, "tree")
	if err := os.CopyFS(tree, os.DirFS(module.Dir)); err != nil {
		return err
	}
	for _, step := range [][]string{
		{"chmod", "-R", "u+w", "."},
		{"rm", "-f", "go.work", "go.work.sum"},
		{"go", "mod", "edit", "-dropreplace=github.com/grafana/pyroscope/api", "-require=" + pyroscopeAPI},
		{"go", "build", "-o", filepath.Join(dir, "pyroscope"), "./cmd/pyroscope"},
	} {
		if _, err := command(ctx, tree, nil, step...); err != nil {
			return err
		}
	}
	return nil
}

func buildMinIO(ctx context.Context, dir, tmp string) error {
	_, err := command(ctx, tmp, []string{"GOBIN=" + dir, "GOFLAGS="}, "go", "install", minio)
	return err
}

// buildCollector builds a collector that takes profiles and writes them to a file.
func buildCollector(ctx context.Context, dir, tmp string) error {
	const config = `dist: {name: otelcol, output_path: %q}
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver %[2]s
exporters:
  - gomod: github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter %[2]s
`
	out, file := filepath.Join(tmp, "out"), filepath.Join(tmp, "builder.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, out, components), 0o666); err != nil {
		return err
	}
	// The builder would tidy the module, for which it needs what tests of the exporter import. Not all is there. So it
	// writes the sources only, and no go.mod.
	if _, err := command(ctx, tmp, []string{"GOFLAGS="}, "go", "run", builder, "--config", file, "--skip-get-modules",
		"--skip-compilation"); err != nil {
		return err
	}
	const module = `module go.opentelemetry.io/collector/cmd/builder

go 1.25

require (
	github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter %[1]s
	go.opentelemetry.io/collector/confmap/provider/envprovider %[2]s
	go.opentelemetry.io/collector/confmap/provider/fileprovider %[2]s
	go.opentelemetry.io/collector/confmap/provider/httpprovider %[2]s
	go.opentelemetry.io/collector/confmap/provider/httpsprovider %[2]s
	go.opentelemetry.io/collector/confmap/provider/yamlprovider %[2]s
	go.opentelemetry.io/collector/otelcol %[1]s
	go.opentelemetry.io/collector/receiver/otlpreceiver %[1]s
	go.opentelemetry.io/collector/service %[1]s
)
`
	text := fmt.Appendf(nil, module, components, stable)
	if err := os.WriteFile(filepath.Join(out, "go.mod"), text, 0o666); err != nil {
		return err
	}
	_, err := command(ctx, out, nil, "go", "build", "-o", filepath.Join(dir, "otelcol"), ".")
	return err
}
