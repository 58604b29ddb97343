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

// A verdictCase is a line of conformance/cases.jsonl.
type verdictCase struct {
	Source    string
	Robots    string
	RobotsB64 []byte `json:"robots_b64"`
	Agent     string
	URL       string
	URLB64    []byte `json:"url_b64"`
	Allowed   bool   // the expected result
	Upstream  *bool  // what the test suite of the Source expects; nil if it is Allowed
	Google    *bool  // the result of Google's parser; nil if it is Allowed
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

// corpusVerdicts contains the verdicts for a file and a robot.
type corpusVerdicts struct {
	id     string // of the file
	token  string // of the robot
	ours   string // one digit for each URL of the file: 1 means allowed
	google string // the same for Google's parser
}

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
	agree := 0
	all := 0
	for _, v := range c.verdicts {
		rules := dialect.Parse(c.robots[v.id]).Rules(v.token)
		want := column(v)
		for i, url := range c.urls[v.id] {
			all++
			wantAllowed := want[i] == '1'
			if rules.Allowed(url) == wantAllowed {
				agree++
			} else if all-agree <= 20 {
				t.Errorf("file %s: Rules(%q).Match(%q) = %+v, want Allowed %t",
					v.id, v.token, url, rules.Match(url), wantAllowed)
			}
		}
	}
	t.Logf("%d of %d verdicts agree", agree, all)
}

// TestSharedCorpusCrawlDelays counts the real files in which the robots of a
// group may have different Crawl-delays.
func TestSharedCorpusCrawlDelays(t *testing.T) {
	// The counts of files in which
	type counts struct {
		splits         int // a Crawl-delay is between the user-agent lines of a group
		splitsWildcard int // such a group names "*"
		differs        int // the Crawl-delay of a robot is not the greatest of its groups
		wildcardDiffer int // the Crawl-delay of "*" is not the greatest of its groups
	}
	want := counts{splits: 192, splitsWildcard: 64, differs: 168, wildcardDiffer: 41}
	var got counts
	count := func(n *int, isCounted bool) {
		if isCounted {
			*n++
		}
	}
	for _, body := range readCorpus(t).robots {
		f := Parse(body)
		splits := false
		splitsWildcard := false
		tokens := map[string]bool{}
		for groups := f.syntax.Groups(); groups.Next(); {
			isSplit, namesWildcard := scanAgents(f, groups.Group, tokens)
			splits = splits || isSplit
			splitsWildcard = splitsWildcard || isSplit && namesWildcard
		}
		differs := map[string]bool{}
		for token := range tokens {
			if hasLesserDelay(f, token) {
				differs[token] = true
			}
		}
		count(&got.splits, splits)
		count(&got.splitsWildcard, splitsWildcard)
		count(&got.differs, len(differs) > 0)
		count(&got.wildcardDiffer, differs["*"])
	}
	if got != want {
		t.Errorf("the counts of the corpus are %+v, want %+v", got, want)
	}
}

// scanAgents adds the robots of a group to tokens, and reports whether a
// Crawl-delay is between its user-agent lines, and whether it names "*".
func scanAgents(
	f *File, group []syntax.Record, tokens map[string]bool,
) (isSplit, namesWildcard bool) {
	hasDelay := false
	for i := range group {
		r := &group[i]
		switch r.Field {
		case syntax.CrawlDelay:
			hasDelay = true
		case syntax.UserAgent:
			value := f.syntax.Value(r)
			isSplit = isSplit || hasDelay
			namesWildcard = namesWildcard || syntax.Wildcard.IsIn(value)
			names := strings.FieldsFunc(value, func(c rune) bool { return c == '/' || c == ' ' })
			if len(names) > 0 {
				tokens[names[0]] = true
			}
		}
	}
	return isSplit, namesWildcard
}

// hasLesserDelay reports whether the Crawl-delay of a robot is not the greatest
// one in its groups.
func hasLesserDelay(f *File, token string) bool {
	const none = time.Duration(-1)
	greatest := none
	for _, group := range referenceGroups(f, token) {
		for i := range group {
			r := &group[i]
			d, ok := syntax.ParseDelay(f.syntax.Value(r))
			if ok && r.Field == syntax.CrawlDelay {
				greatest = max(greatest, d)
			}
		}
	}
	delay, ok := f.Rules(token).CrawlDelay()
	if !ok {
		delay = none
	}
	return delay != greatest
}
