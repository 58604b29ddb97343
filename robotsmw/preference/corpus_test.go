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
// has the given suffix.
func eachFile(t *testing.T, archive, suffix string, f func(name string, text []byte)) {
	t.Helper()
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" {
		t.Skip("SKIPPED: COURTESY_SHARED is unset; set it to the directory of conformance/ and corpus/")
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
		if !strings.HasSuffix(h.Name, suffix) {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		f(h.Name, text)
	}
}

// signals is a set of descriptions of the signals in a file.
type signals map[string]bool

// add adds the statements of an input that is for all robots.
func (set signals) add(in preference.Input) {
	for _, s := range in.Says() {
		set[fmt.Sprintf("%s, %s: %v", s.Signal, s.Use, s.Answer)] = true
		if strings.HasPrefix(s.Raw, "cannot be read") {
			set[s.Signal+": cannot be read"] = true
		}
	}
	if use, _ := in.ContentUse(); use != "" {
		set["use="+use] = true
	}
}

// addTokens adds the answers of policy tokens in a robots.txt file.
func (set signals) addTokens(file *robotstxt.File) {
	for _, token := range []string{"Google-Extended", "Applebot-Extended"} {
		m := file.Rules(token).Match("/")
		isNamed := len(m.Group) > 0 && m.Group[0].Value != "*"
		if !isNamed {
			continue
		}
		in := preference.Input{
			Robots:       file,
			PolicyTokens: map[preference.Use][]string{preference.TrainAI: {token}},
		}
		set[fmt.Sprintf("%s, for /: %v", token, in.For(preference.TrainAI).Answer)] = true
	}
}

// A tally counts the files that have a signal.
type tally map[string]int

func (c tally) add(set signals) {
	c["files"]++
	for signal := range set {
		c[signal]++
	}
}

// TestRealFiles counts the signals in real files. With -v, it prints the
// counts.
func TestRealFiles(t *testing.T) {
	robots := tally{}
	eachFile(t, "corpus.tar.gz", ".txt", func(name string, text []byte) {
		if !strings.Contains(name, "robots/") {
			return
		}
		file := robotstxt.Parse(text)
		set := signals{}
		for field := range file.Fields("Content-Usage", "Content-Signal", "ContentSignal", "License") {
			set[strings.ToLower(field.Name)+" in any group"] = true
		}
		set.addTokens(file)
		set.add(preference.Input{Robots: file})
		robots.add(set)
	})
	pages := tally{}
	eachFile(t, "pages.tar.gz", ".html", func(_ string, text []byte) {
		set := signals{}
		set.add(preference.Input{Page: htmlmeta.Scan(text)})
		pages.add(set)
	})
	headers := tally{}
	eachFile(t, "pages.tar.gz", "xrobots.tsv", func(_ string, text []byte) {
		for value := range strings.FieldsFuncSeq(string(text), isTabOrNewline) {
			set := signals{}
			h := map[string][]string{"X-Robots-Tag": {value}}
			set.add(preference.Input{Page: robotsmeta.ParseHeader(h)})
			headers.add(set)
		}
	})
	for name, counts := range map[string]tally{
		"robots.txt":   robots,
		"pages":        pages,
		"X-Robots-Tag": headers,
	} {
		for _, signal := range slices.Sorted(maps.Keys(counts)) {
			t.Logf("%s: %5d %s", name, counts[signal], signal)
		}
	}
	if n := robots["files"]; n < 3000 {
		t.Errorf("the corpus has %d robots.txt files, want at least 3,000", n)
	}
	if robots["content-signal in any group"] == 0 {
		t.Error("the corpus has no robots.txt file with a Content-Signal, want at least one")
	}
	if n := pages["files"]; n < 400 {
		t.Errorf("the corpus has %d pages, want at least 400", n)
	}
}

func isTabOrNewline(r rune) bool { return r == '\t' || r == '\n' }
