package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Peers that are not in go.mod are built from clones of their repositories, in
// the directory COURTESY_PEERS. Each becomes a program that measures itself.

//go:embed runners
var runners embed.FS

// An outsider is a parser that is not in go.mod.
type outsider struct {
	name  string
	clone string // the directory of the peer's package
	path  string // the path of the program that was built
}

// outsiders looks for clones of peers in COURTESY_PEERS. For each clone, it
// builds a program in dir.
func outsiders(dir string) ([]outsider, error) {
	peers := os.Getenv("COURTESY_PEERS")
	if peers == "" {
		return nil, nil
	}
	var built []outsider
	for _, o := range []outsider{
		{name: "grobotstxt", clone: "grobotstxt"},
		{name: "benjaminestes", clone: "benjaminestes/v2"},
		{name: "google", clone: "google"},
	} {
		o.clone = filepath.Join(peers, o.clone)
		o.path = filepath.Join(dir, o.name)
		if _, err := os.Stat(o.clone); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		build := o.buildGo
		if o.name == "google" {
			if _, err := exec.LookPath("g++"); err != nil {
				continue
			}
			build = o.buildGoogle
		}
		if err := build(dir); err != nil {
			return nil, fmt.Errorf("build %s of COURTESY_PEERS: %w", o.name, err)
		}
		built = append(built, o)
	}
	return built, nil
}

// buildGo builds the runner for a Go package. An overlay puts the runner and
// the package into this module.
func (o outsider) buildGo(dir string) error {
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	outside := filepath.Join(wd, "outside", o.name)
	replace := map[string]string{}
	for _, name := range []string{"runner.go.txt", o.name + ".go.txt"} {
		body, err := runners.ReadFile("runners/" + name)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, o.name+"-"+name)
		if err := os.WriteFile(file, body, 0o600); err != nil {
			return err
		}
		replace[filepath.Join(outside, strings.TrimSuffix(name, ".txt"))] = file
	}
	sources, err := filepath.Glob(filepath.Join(o.clone, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range sources {
		if !strings.HasSuffix(path, "_test.go") {
			replace[filepath.Join(outside, "peer", filepath.Base(path))] = path
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, o.name+".json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	return command("go", "build", "-overlay", file, "-o", o.path, "./outside/"+o.name)
}

// buildGoogle builds the runner for the parser in C++.
func (o outsider) buildGoogle(dir string) error {
	body, err := runners.ReadFile("runners/google.cc")
	if err != nil {
		return err
	}
	runner := filepath.Join(dir, "google.cc")
	if err := os.WriteFile(runner, body, 0o600); err != nil {
		return err
	}
	return command("g++", "-std=c++17", "-O2", "-DNDEBUG", "-I", o.clone, "-o", o.path,
		runner, filepath.Join(o.clone, "robots.cc"),
		"-labsl_strings", "-labsl_strings_internal", "-labsl_throw_delegate", "-labsl_raw_logging_internal")
}

// command runs a command. The error contains the output.
func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// measure returns the time for one pass over the files, in nanoseconds.
func (o outsider) measure(atLeast time.Duration, url string, files []string) (float64, error) {
	args := append([]string{strconv.FormatInt(atLeast.Nanoseconds(), 10), url}, files...)
	out, err := exec.Command(o.path, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		first, _, _ := bytes.Cut(exit.Stderr, []byte("\n"))
		return 0, fmt.Errorf("%s: %w: %s", o.name, err, first)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", o.name, err)
	}
	return strconv.ParseFloat(string(bytes.TrimSpace(out)), 64)
}
