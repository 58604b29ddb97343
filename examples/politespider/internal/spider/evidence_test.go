package spider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

var said = regexp.MustCompile(`the evidence record is in \S.*; its head is [0-9]+:[0-9a-f]{64}\n`)

// The report says why a page was not fetched, and names the line of the record
// that proves the reason.
func TestCrawl_Evidence(t *testing.T) {
	dir := t.TempDir()
	report, record := filepath.Join(dir, "crawl.html"), filepath.Join(dir, "a record")
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/robots.txt":
				io.WriteString(w, "User-agent: *\nDisallow: /attic\n")
			case "/":
				io.WriteString(w, "<a href=/attic/1>1</a> <a href='/attic/2?q=a b'>2</a> <a href=/3>3</a>")
			}
		}))
		for range 2 { // the second run continues the record
			var stderr bytes.Buffer
			command := tool.Command{
				Crawl:  Crawl,
				Args:   []string{agent, "-report", report, "-evidence", record, "http://a.example/"},
				Base:   &internet,
				Stdout: io.Discard,
				Stderr: &stderr,
			}
			if status := command.Run(context.Background()); status != tool.ExitOK {
				t.Errorf("exit status %d: %s", status, &stderr)
			}
			if !said.MatchString(stderr.String()) {
				t.Errorf("standard error %q does not say the head", stderr.String())
			}
		}
	})
	page, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"proofs":(\{.*?\}\})`).FindSubmatch(page)
	if found == nil {
		t.Fatal("the report has no proofs")
	}
	var proofs map[string]struct {
		File string
		Line uint64
	}
	if err := json.Unmarshal(found[1], &proofs); err != nil {
		t.Fatal(err)
	}
	if len(proofs) != 2 {
		t.Errorf("%d proofs, of two URLs that were disallowed", len(proofs))
	}
	for _, p := range proofs {
		if p.File != "a%20record/evidence-000002.jsonl" {
			t.Errorf("a proof is in %q", p.File)
		}
		f, err := os.Open(filepath.Join(record, "evidence-000002.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		proved := false
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var line struct {
				N        uint64
				URL      string
				Decision struct{ Rule string }
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			proved = proved || line.N == p.Line && strings.HasPrefix(line.URL, "http://a.example/attic/") && line.Decision.Rule == "Disallow: /attic"
		}
		if !proved {
			t.Errorf("line %d of %s proves nothing", p.Line, p.File)
		}
	}
}

// During a long crawl, the spider says every hour what the head of the record
// is, and at the end once more. Each is a line of the record.
func TestCrawl_EvidenceSaysItsHeadEachHour(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	var stderr lockedBuffer
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				io.WriteString(w, "User-agent: *\nCrawl-delay: 3000\n")
				return
			}
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>")
		}))
		command := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "-evidence", record, "http://a.example/"},
			Base:   &internet,
			Stdout: io.Discard,
			Stderr: &stderr,
		}
		if status := command.Run(context.Background()); status != tool.ExitOK {
			t.Errorf("exit status %d", status)
		}
	})
	lines, err := os.ReadFile(filepath.Join(record, "evidence-000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	heads := regexp.MustCompile(`its head is ([0-9]+):([0-9a-f]{64})\n`).FindAllStringSubmatch(stderr.String(), -1)
	if len(heads) != 3 {
		t.Errorf("%d heads in two and a half hours, want 3: %s", len(heads), stderr.String())
	}
	for _, head := range heads {
		line := regexp.MustCompile(`(?m)^\{"n":` + head[1] + `,.*"hash":"` + head[2] + `"\}$`)
		if !line.Match(lines) {
			t.Errorf("%s is no line of the record", head[0])
		}
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// With -from-end, the interval begins at the end of an answer. So a slow answer
// delays the next page.
func TestCrawl_FromEnd(t *testing.T) {
	for _, test := range []struct {
		args []string
		want time.Duration // the time from one page to the next
	}{
		{nil, time.Second},
		{[]string{"-from-end"}, 1600 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var pages []time.Time
			var internet robotstest.Internet
			internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					http.NotFound(w, r)
					return
				}
				pages = append(pages, time.Now())
				time.Sleep(600 * time.Millisecond)
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, "<a href=/1>1</a>")
			}))
			crawlInternet(t, t.Context(), &internet, tool.ExitOK, append(test.args, "http://a.example/")...)
			if len(pages) != 2 || pages[1].Sub(pages[0]) != test.want {
				t.Errorf("%q: pages at %v, want two, %v apart", test.args, pages, test.want)
			}
		})
	}
}

func TestCrawl_EvidenceCannotBeWritten(t *testing.T) {
	var internet robotstest.Internet
	var stderr bytes.Buffer
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	command := tool.Command{
		Crawl:  Crawl,
		Args:   []string{agent, "-evidence", path, "http://a.example/"},
		Base:   &internet,
		Stdout: io.Discard,
		Stderr: &stderr,
	}
	if status := command.Run(t.Context()); status != tool.ExitFailed || !strings.Contains(stderr.String(), "-evidence: ") {
		t.Errorf("exit status %d: %s", status, &stderr)
	}
}
