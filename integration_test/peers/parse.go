package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	courtesy "github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/temoto/robotstxt"
)

type parseWorkload struct {
	name   string
	bodies [][]byte
}

func (p parseWorkload) size() (n int) {
	for _, b := range p.bodies {
		n += len(b)
	}
	return n
}

func (p parseWorkload) parseOurs() {
	for _, b := range p.bodies {
		courtesy.Parse(b).Rules("ExampleBot")
	}
}

func (p parseWorkload) parseTemoto() {
	for _, b := range p.bodies {
		if data, err := robotstxt.FromBytes(b); err == nil {
			data.FindGroup("ExampleBot")
		}
	}
}

func parseWorkloads() ([]parseWorkload, error) {
	half := 250 << 10
	many := strings.Builder{}
	for i := 0; many.Len() < 2*half-1000; i++ {
		many.WriteString(fmt.Sprintf("User-agent: bot%c%c\n", 'a'+i/26%26, 'a'+i%26))
		many.WriteString(strings.TrimPrefix(crawlWorkload("", 20, 5).robots, "User-agent: *\n"))
	}
	many.WriteString("User-agent: *\nDisallow: /tmp/\n")
	one := crawlWorkload("", 14_000, 0).robots
	files := []parseWorkload{
		{"1.5 KB", [][]byte{[]byte(crawlWorkload("", 45, 8).robots)[:1500]}},
		{"500 KiB, many groups", [][]byte{[]byte(many.String())}},
		{"500 KiB, one group", [][]byte{[]byte(one)[:min(len(one), 2*half)]}},
	}
	if shared() == "" {
		return files, nil
	}
	paths, err := filepath.Glob(filepath.Join(shared(), "corpus", "core", "*.txt"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no files in corpus/core of COURTESY_SHARED=%s: %w", shared(), err)
	}
	core := parseWorkload{name: "core corpus"}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		core.bodies = append(core.bodies, body)
	}
	return append([]parseWorkload{core}, files...), nil
}

// shared returns the directory that COURTESY_SHARED names, or "" if the
// variable is not set. A relative name starts at the repository's root.
func shared() string {
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join("..", "..", dir)
}
