package robotstxt

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// sharedDir returns the directory with the shared conformance cases and the
// corpus of real files. The directory is not part of this repository. Its path
// is in the environment variable COURTESY_SHARED, and may be relative to the
// module's root.
func sharedDir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" {
		tb.Skip("COURTESY_SHARED is not set: conformance/ and corpus/ are NOT checked")
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	root, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, dir)
		}
		if root == filepath.Dir(root) {
			err = errors.New("no go.mod above the test")
		}
		root = filepath.Dir(root)
	}
	tb.Fatal(err)
	return ""
}

// A verdictCase is a line of conformance/cases.jsonl. The field Upstream is the
// answer that the case's own test suite expects. The field Google is the answer
// of the reference parser. Each of these two fields is set only if it differs
// from the field Allowed.
type verdictCase struct {
	Source    string
	Robots    string
	RobotsB64 []byte `json:"robots_b64"`
	Agent     string
	URL       string
	URLB64    []byte `json:"url_b64"`
	Allowed   bool
	Upstream  *bool
	Google    *bool
}

func (c *verdictCase) normalize() {
	if c.RobotsB64 != nil {
		c.Robots = string(c.RobotsB64)
	}
	if c.URLB64 != nil {
		c.URL = string(c.URLB64)
	}
}

func verdictCases(tb testing.TB) []verdictCase {
	tb.Helper()
	f, err := os.Open(filepath.Join(sharedDir(tb), "conformance", "cases.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var cases []verdictCase
	for dec := json.NewDecoder(f); ; {
		var c verdictCase
		if err := dec.Decode(&c); err == io.EOF {
			return cases
		} else if err != nil {
			tb.Fatal(err)
		}
		c.normalize()
		cases = append(cases, c)
	}
}

func TestSharedConformance(t *testing.T) {
	agree := 0
	cases := verdictCases(t)
	for _, c := range cases {
		got := Parse([]byte(c.Robots)).Rules(c.Agent).Allowed(c.URL)
		if got == c.Allowed {
			agree++
			continue
		}
		t.Errorf("%s: agent %q, URL %q: allowed %t, want %t; robots.txt:\n%s",
			c.Source, c.Agent, c.URL, got, c.Allowed, c.Robots)
	}
	t.Logf("%d of %d verdicts agree", agree, len(cases))
}

func TestSharedConformanceGoogle(t *testing.T) {
	agree := 0
	cases := verdictCases(t)
	for _, c := range cases {
		want := c.Allowed
		if c.Google != nil {
			want = *c.Google
		}
		got := Google.Parse([]byte(c.Robots)).Rules(c.Agent).Allowed(c.URL)
		if got == want {
			agree++
			continue
		}
		t.Errorf("%s: agent %q, URL %q: allowed %t, want %t; robots.txt:\n%s",
			c.Source, c.Agent, c.URL, got, want, c.Robots)
	}
	t.Logf("%d of %d verdicts agree", agree, len(cases))
}

type corpus struct {
	robots   map[string][]byte
	urls     map[string][]string
	verdicts []corpusVerdicts
}

// corpusVerdicts has the verdicts for a file and a robot. The fields ours and
// google are strings with one digit for each URL of the file: 1 means allowed.
type corpusVerdicts struct{ id, token, ours, google string }

func readCorpus(tb testing.TB) corpus {
	tb.Helper()
	f, err := os.Open(filepath.Join(sharedDir(tb), "corpus", "corpus.tar.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		tb.Fatal(err)
	}
	c := corpus{robots: map[string][]byte{}, urls: map[string][]string{}}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return c
		}
		if err != nil {
			tb.Fatal(err)
		}
		body, err := io.ReadAll(tr)
		if err != nil {
			tb.Fatal(err)
		}
		dir, base := filepath.Split(h.Name)
		id := strings.TrimSuffix(base, ".txt")
		switch {
		case strings.HasSuffix(dir, "robots/"):
			c.robots[id] = body
		case strings.HasSuffix(dir, "urls/"):
			c.urls[id] = strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
		case base == "verdicts.tsv":
			for l := range bytes.Lines(body) {
				col := strings.Split(strings.TrimSuffix(string(l), "\n"), "\t")
				c.verdicts = append(c.verdicts, corpusVerdicts{col[0], col[1], col[2], col[3]})
			}
		}
	}
}

func TestSharedCorpus(t *testing.T) {
	testCorpus(t, RFC9309, func(v corpusVerdicts) string { return v.ours })
}

func TestSharedCorpusGoogle(t *testing.T) {
	testCorpus(t, Google, func(v corpusVerdicts) string { return v.google })
}

func testCorpus(t *testing.T, dialect Dialect, column func(corpusVerdicts) string) {
	c := readCorpus(t)
	agree, all := 0, 0
	for _, v := range c.verdicts {
		f, want := dialect.Parse(c.robots[v.id]), column(v)
		rules := f.Rules(v.token)
		for i, url := range c.urls[v.id] {
			all++
			if rules.Allowed(url) == (want[i] == '1') {
				agree++
			} else if all-agree <= 20 {
				t.Errorf("%s: token %q, URL %q: %+v, want %c",
					v.id, v.token, url, rules.Match(url), want[i])
			}
		}
	}
	t.Logf("%d of %d verdicts agree", agree, all)
}

// TestSharedCorpusCrawlDelays counts the real files with a Crawl-delay between
// the user-agent lines of a group. It also counts the files in which some robot
// does not get the greatest Crawl-delay of its groups.
func TestSharedCorpusCrawlDelays(t *testing.T) {
	type counts struct{ between, betweenEveryone, differ, differForEveryone int }
	want := counts{between: 192, betweenEveryone: 64, differ: 168, differForEveryone: 41}
	var got counts
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	for _, body := range readCorpus(t).robots {
		f := Parse(body)
		between := false
		betweenEveryone := false
		tokens := map[string]bool{}
		for groups := f.syntax.Groups(); groups.Next(); {
			delay := false
			parted := false
			everyone := false
			for i := range groups.Group {
				switch r := &groups.Group[i]; r.Field {
				case syntax.CrawlDelay:
					delay = true
				case syntax.UserAgent:
					value := f.syntax.Value(r)
					parted = parted || delay
					everyone = everyone || syntax.Wildcard.IsIn(value)
					if name := strings.FieldsFunc(value, func(c rune) bool { return c == '/' || c == ' ' }); len(name) > 0 {
						tokens[name[0]] = true
					}
				}
			}
			between, betweenEveryone = between || parted, betweenEveryone || parted && everyone
		}
		for token := range tokens {
			greatest := time.Duration(-1)
			for _, group := range referenceGroups(f, token) {
				for i := range group {
					r := &group[i]
					if d, ok := syntax.ParseDelay(f.syntax.Value(r)); ok && r.Field == syntax.CrawlDelay {
						greatest = max(greatest, d)
					}
				}
			}
			delay, ok := f.Rules(token).CrawlDelay()
			if !ok {
				delay = -1
			}
			tokens[token] = delay != greatest
		}
		differs := false
		for _, d := range tokens {
			differs = differs || d
		}
		count(&got.between, between)
		count(&got.betweenEveryone, betweenEveryone)
		count(&got.differ, differs)
		count(&got.differForEveryone, tokens["*"])
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
