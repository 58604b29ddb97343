package pagelinks

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// realPages returns the heads of real pages by name, and the lines of the list
// of these pages. It skips the test if COURTESY_SHARED is unset.
func realPages(t testing.TB) (pages map[string]string, listed []string) {
	t.Helper()
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" {
		t.Skip("SKIPPED: COURTESY_SHARED is unset; set it to the directory of conformance/ and corpus/")
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !filepath.IsAbs(dir) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			dir = filepath.Join(root, dir)
		}
		root = filepath.Dir(root)
	}
	f, err := os.Open(filepath.Join(dir, "corpus", "pages.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	pages = map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return pages, listed
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		switch name := path.Base(h.Name); {
		case strings.HasSuffix(name, ".html"):
			pages[strings.TrimSuffix(name, ".html")] = string(b)
		case name == "pages.tsv":
			listed = strings.Split(strings.TrimSpace(string(b)), "\n")[1:]
		}
	}
}

var realTokens = []string{"googlebot", "googlebot-news", "bingbot", "msnbot", "slurp", "teoma", "yandex"}

// A rule is a robotsmeta.Rule without its position.
type rule struct{ name, value, scope, raw string }

// rules returns the rules of d without their positions.
func rules(d robotsmeta.Directives) (all []rule) {
	for r := range d.Rules() {
		all = append(all, rule{r.Name, r.Value, strings.ToLower(r.Scope), r.Raw})
	}
	return all
}

// treeDirectives parses a page and returns the directives of the meta elements
// in its tree.
func treeDirectives(t testing.TB, html string) (d robotsmeta.Directives) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(html))
	if err != nil {
		t.Fatal(err)
	}
	doc.Find("meta[name], noscript").Each(func(_ int, s *goquery.Selection) {
		switch {
		case inTemplate(s):
		case goquery.NodeName(s) == "noscript":
			if s.Children().Length() == 0 {
				d = d.Union(treeDirectives(t, s.Text()))
			}
		default:
			name := s.AttrOr("name", "")
			content := s.AttrOr("content", "")
			d = d.Union(robotsmeta.ParseMeta(name, content, 0, realTokens...))
		}
	})
	return d
}

// TestRealHeads_AgreeWithTree compares htmlmeta.Scan, which does not parse a
// page, with the meta elements in the tree of the page.
func TestRealHeads_AgreeWithTree(t *testing.T) {
	pages, listed := realPages(t)
	withRules := 0
	for name, html := range pages {
		html = html[:min(len(html), htmlmeta.Window)] // one of the heads is longer than what Scan reads
		got := rules(htmlmeta.Scan([]byte(html), realTokens...))
		want := rules(treeDirectives(t, html))
		if !slices.Equal(got, want) {
			t.Errorf("page %s: Scan returns the rules\n%v, want\n%v", name, got, want)
		}
		if len(got) > 0 {
			withRules++
		}
	}
	t.Logf("%d pages, %d of them with rules", len(pages), withRules)
	if len(pages) != 419 || len(listed) != 419 {
		t.Errorf("the corpus has %d pages and %d lines, want 419 and 419", len(pages), len(listed))
	}
}

// collapse replaces each sequence of white space by one space.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestRealHeads_Directives(t *testing.T) {
	pages, listed := realPages(t)
	comment := regexp.MustCompile(`(?s)<!--.*?-->`)
	count := 0
	for _, line := range listed {
		fields := strings.Split(line, "\t")
		name := fields[0]
		var metas []string
		if err := json.Unmarshal([]byte(fields[6]), &metas); err != nil {
			t.Fatal(err)
		}
		var want robotsmeta.Directives
		// The list also contains meta elements in HTML comments and, for one
		// page, some beyond the window, which Scan does not report.
		head := pages[name]
		head = head[:min(len(head), htmlmeta.Window)]
		head = collapse(comment.ReplaceAllString(head, ""))
		for _, m := range metas {
			if strings.Contains(head, collapse(m)) {
				want = want.Union(treeDirectives(t, m))
				count++
			}
		}
		got := htmlmeta.Scan([]byte(pages[name]), realTokens...)
		if gotRules, wantRules := rules(got), rules(want); !slices.Equal(gotRules, wantRules) {
			t.Errorf("page %s: Scan returns the rules\n%v, want\n%v", name, gotRules, wantRules)
		}
		// The flags in the list are the directives in the meta elements. The
		// flag value-attr means that a directive may be in the attribute
		// "value" of a meta element, where it has no meaning, so pages with
		// this flag are skipped.
		flags := strings.Split(fields[5], ",")
		if slices.Contains(flags, "value-attr") {
			continue
		}
		for _, flag := range []string{"noarchive", "noai"} {
			if slices.Contains(flags, flag) && !got.Says(flag) {
				t.Errorf("page %s: Says(%q) = false, want true, because the list has this flag", name, flag)
			}
		}
	}
	t.Logf("%d metas", count)
}

func BenchmarkRealHeads(b *testing.B) {
	pages, listed := realPages(b)
	for _, bench := range []struct {
		name  string
		metas bool
	}{{"without metas", false}, {"with metas", true}} {
		var heads [][]byte
		nbytes := 0
		for _, line := range listed {
			fields := strings.Split(line, "\t")
			if fields[6] != "[]" == bench.metas {
				heads = append(heads, []byte(pages[fields[0]]))
				nbytes += len(pages[fields[0]])
			}
		}
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for _, head := range heads {
					htmlmeta.Scan(head, "examplebot")
				}
				n++
			}
			ns := float64(b.Elapsed().Nanoseconds()) / float64(n)
			b.ReportMetric(ns/float64(len(heads))/1000, "µs/head")
			b.ReportMetric(ns/float64(nbytes)*(68<<10)/1000, "µs/68KB")
		})
	}
}
