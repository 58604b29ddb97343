package preference_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// eachFile calls f with each file of an archive in the shared corpus whose name
// has the given end.
func eachFile(t *testing.T, archive, end string, f func(name string, text []byte)) {
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" {
		t.Skip("SKIPPED: COURTESY_SHARED is unset; set it to the directory that holds conformance/ and corpus/")
	}
	if !filepath.IsAbs(dir) { // a relative path starts at the module's root
		dir = filepath.Join("..", "..", dir)
	}
	packed, err := os.Open(filepath.Join(dir, "corpus", archive))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unpacked); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, end) {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		f(h.Name, text)
	}
}

// The test counts the signals in real files, and looks for statements that
// decide though they should not. -v prints the counts.
func TestRealFiles(t *testing.T) {
	robots, pages := make(map[string]int), make(map[string]int)
	count := func(counts map[string]int, seen map[string]bool) {
		counts["files"]++
		for what := range seen {
			counts[what]++
		}
	}
	eachFile(t, "corpus.tar.gz", ".txt", func(name string, text []byte) {
		if !strings.Contains(name, "robots/") {
			return
		}
		file, seen := robotstxt.Parse(text), make(map[string]bool)
		for _, field := range []string{"Content-Usage", "Content-Signal", "ContentSignal", "License"} {
			for range file.Fields(field) {
				seen[field+", in any group"] = true
			}
		}
		for token, use := range map[string]preference.Use{"Google-Extended": preference.TrainAI, "Applebot-Extended": preference.TrainAI} {
			in := preference.Input{Robots: file, PolicyTokens: map[preference.Use][]string{use: {token}}}
			if m := file.Rules(token).Match("/"); len(m.Group) > 0 && strings.HasPrefix(strings.ToLower(m.Group[0].Value), strings.ToLower(token)) {
				seen[fmt.Sprintf("%s, for /: %v", token, in.For(use).Answer)] = true
			}
		}
		in := preference.Input{Robots: file}
		for _, s := range in.Says() {
			seen[fmt.Sprintf("%s for everybody, %s: %v", s.Signal, s.Use, s.Answer)] = true
			if strings.HasPrefix(s.Raw, "cannot be read") {
				seen[s.Signal+" for everybody: cannot be read"] = true
			}
		}
		if use, _ := in.ContentUse(); use != "" {
			seen["use="+use] = true
		}
		count(robots, seen)
	})
	eachFile(t, "pages.tar.gz", ".html", func(_ string, text []byte) {
		seen := make(map[string]bool)
		in := preference.Input{Page: htmlmeta.Scan(text)}
		for _, s := range in.Says() {
			seen[fmt.Sprintf("%s, %s: %v", s.Signal, s.Use, s.Answer)] = true
		}
		count(pages, seen)
	})
	eachFile(t, "pages.tar.gz", "xrobots.tsv", func(_ string, text []byte) {
		for line := range strings.Lines(string(text)) {
			for _, value := range strings.Split(strings.TrimSpace(line), "\t") {
				for _, s := range (preference.Input{Page: robotsmeta.ParseHeader(map[string][]string{"X-Robots-Tag": {value}})}).Says() {
					pages[fmt.Sprintf("X-Robots-Tag: %s, %s: %v", s.Signal, s.Use, s.Answer)]++
				}
			}
		}
	})
	for name, counts := range map[string]map[string]int{"robots.txt": robots, "pages": pages} {
		for _, what := range slices.Sorted(maps.Keys(counts)) {
			t.Logf("%s: %5d %s", name, counts[what], what)
		}
	}
	if robots["files"] < 3000 || robots["Content-Signal, in any group"] == 0 || pages["files"] < 400 {
		t.Errorf("only %d robots.txt, %d with a Content-Signal, and %d pages",
			robots["files"], robots["Content-Signal, in any group"], pages["files"])
	}
}
