package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	courtesy "github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/temoto/robotstxt"
)

// A parseWorkload is a set of robots.txt files to parse.
type parseWorkload struct {
	name   string
	bodies [][]byte
}

// size returns the total size of the files.
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

// maxFile is the size of the large files: 500 KiB, which RFC 9309 requires
// crawlers to parse.
const maxFile = 500 << 10

// parseWorkloads returns the files to parse. The first workload has real files,
// if COURTESY_SHARED is set.
func parseWorkloads() ([]parseWorkload, error) {
	oneGroup := crawlWorkload("", 14_000, 0).robots
	generated := []parseWorkload{
		{"1.5 KB", [][]byte{[]byte(crawlWorkload("", 45, 8).robots)[:1500]}},
		{"500 KiB, many groups", [][]byte{[]byte(manyGroups())}},
		{"500 KiB, one group", [][]byte{[]byte(oneGroup)[:min(len(oneGroup), maxFile)]}},
	}
	if shared() == "" {
		return generated, nil
	}
	core, err := coreCorpus()
	if err != nil {
		return nil, err
	}
	return append([]parseWorkload{core}, generated...), nil
}

// manyGroups returns a file with a group for each of many robots.
func manyGroups() string {
	var b strings.Builder
	for i := 0; b.Len() < maxFile-1000; i++ {
		fmt.Fprintf(&b, "User-agent: bot%c%c\n", 'a'+i/26%26, 'a'+i%26)
		b.WriteString(strings.TrimPrefix(crawlWorkload("", 20, 5).robots, "User-agent: *\n"))
	}
	b.WriteString("User-agent: *\nDisallow: /tmp/\n")
	return b.String()
}

// coreCorpus returns the real files in COURTESY_SHARED.
func coreCorpus() (parseWorkload, error) {
	core := parseWorkload{name: "core corpus"}
	paths, err := filepath.Glob(filepath.Join(shared(), "corpus", "core", "*.txt"))
	if err != nil {
		return core, err
	}
	if len(paths) == 0 {
		return core, fmt.Errorf("COURTESY_SHARED=%s has no files in corpus/core", shared())
	}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			return core, err
		}
		core.bodies = append(core.bodies, body)
	}
	return core, nil
}

// shared returns the directory in COURTESY_SHARED, or "" if the variable is not
// set. A relative path starts at the repository's root.
func shared() string {
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join("..", "..", dir)
}
